import { startPostgres } from "../../support/processes/postgres.ts";
import type { Scenario } from "../harness/scenario.ts";
import { openWorld } from "../harness/world.ts";
import { answer, playSequences } from "./sequences.ts";

/** The random sequences over three servers on one PostgreSQL: each request goes to any of them. */
export const roaming: Scenario = {
  name: "roaming",
  async run(context) {
    const { long, random } = context;
    const postgres = await startPostgres();
    if (postgres === undefined) {
      return [{ what: "sequences over three servers", measured: "skipped: no PostgreSQL", target: "any", holds: true }];
    }
    try {
      const environment = { MILLRACE_DATABASE: await postgres.create() };
      const world = await openWorld(answer, { environment, servers: 3 });
      try {
        const at = {
          get url() {
            return random.pick(world.servers).url;
          },
        };
        const count = Number(process.env["SEQUENCES"] ?? (long ? 1000 : 30));
        const length = long ? { minLength: 30, maxLength: 30 } : { minLength: 4, maxLength: 16 };
        return await playSequences(world, { count, length, at }, context);
      } finally {
        await world.close();
      }
    } finally {
      await postgres.stop();
    }
  },
};
