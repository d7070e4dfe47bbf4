import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { loadConfig } from "@millrace/engine/config/config";
import { startModelServer } from "@millrace/testing/model-server";
import { createRandom } from "../faults/harness/scenario.ts";
import { answer, playSequences } from "../faults/sequences/sequences.ts";
import { startPostgres } from "../support/processes/postgres.ts";
import { projectFolder } from "../support/source-files.ts";
import { createServers } from "./two-servers.ts";

const postgres = await startPostgres();
afterAll(() => postgres?.stop());

/** The fault suite runs many more sequences, across processes: `npm run test:faults -- --only roaming`. */
describe.skipIf(postgres === undefined)("three servers behind a load balancer", () => {
  it("keep what was sent, stopped, approved, edited, forked, copied and deleted", { timeout: 180_000 }, async () => {
    const folder = await mkdtemp(join(tmpdir(), "millrace-sequences-"));
    const [servers, model] = [
      await createServers(postgres),
      await startModelServer({ handler: answer, record: false }),
    ];
    try {
      const [graphs, effectsFile] = [join(folder, "langgraph.json"), join(folder, "effects")];
      const shapes = join(projectFolder, "tests/faults/harness/shapes.ts");
      await writeFile(graphs, JSON.stringify({ graphs: { watched: `${shapes}:watched` } }));
      await writeFile(effectsFile, "");
      process.env["EFFECTS_FILE"] = effectsFile;
      const { openai } = loadConfig({ OPENAI_API_KEY: "test-key", OPENAI_BASE_URL: model.url });
      const config = { graphs, openai };
      const three = [await servers.start(config), await servers.start(config), await servers.start(config)];
      const random = createRandom(Date.now());
      const at = {
        get url() {
          return random.pick(three).url;
        },
      };
      const played = { count: 4, length: { minLength: 4, maxLength: 10 }, at };
      const context = { seed: Date.now(), say: () => undefined };
      const figures = await playSequences({ effectsFile, model }, played, context);
      expect(figures.filter(({ holds }) => !holds)).toEqual([]);
    } finally {
      await servers.close();
      await model.close();
      await rm(folder, { recursive: true, force: true });
    }
  });
});
