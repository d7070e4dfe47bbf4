import { noneOf, type Scenario } from "../harness/scenario.ts";
import { answer } from "../harness/script.ts";
import { traceSyncs } from "./sync-trace.ts";
import { newThread, openWorld, startRun } from "../harness/world.ts";

/** Submissions at a time: some of them share a commit. */
const atOnce = 4;

/** An accepted run is on the disk before the client gets an answer: its commit, then a sync, then the answer (reliability R2). */
export const fsync: Scenario = {
  name: "fsync",
  async run({ long }) {
    const count = long ? 1000 : 50;
    const world = await openWorld(answer);
    const { server } = world;
    try {
      const { pid } = server;
      if (pid === undefined) throw new Error("The server has ended.");
      const trace = await traceSyncs(pid);
      if ("missing" in trace) {
        const measured = `skipped: ${trace.missing}`;
        return [{ what: "accepted runs that were not on the disk", measured, target: "0", holds: true }];
      }
      const ids: string[] = [];
      const submit = async (): Promise<void> => {
        while (ids.length < count) {
          const threadId = await newThread(server);
          const { run_id } = await startRun(server, threadId, { assistant_id: "talker", input: {} });
          ids.push(run_id);
        }
      };
      await Promise.all(Array.from({ length: atOnce }, submit));
      const { answered, early } = await trace.stop();
      return [
        noneOf("accepted runs that were answered before a sync of their commit", early, ids.length),
        noneOf(
          "accepted runs whose answer was not seen",
          ids.filter((id) => !answered.has(id)),
          ids.length,
        ),
      ];
    } finally {
      await world.close();
    }
  },
};
