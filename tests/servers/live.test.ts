import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { loadConfig } from "@millrace/engine/config/config";
import { startModelServer } from "@millrace/testing/model-server";
import { startPostgres } from "../support/processes/postgres.ts";
import { projectFolder } from "../support/source-files.ts";
import { createServers } from "./two-servers.ts";

const postgres = await startPostgres();
afterAll(() => postgres?.stop());

const Shown = z.looseObject({ streaming_text: z.string(), loop: z.looseObject({ phase: z.string() }).nullable() });

describe.skipIf(postgres === undefined)("the status of a thread whose run is at the other server", () => {
  it("has the run's phase and all of its text so far", async () => {
    const servers = await createServers(postgres);
    const held = Promise.withResolvers<void>();
    // A text of several notifications, with characters of one to four bytes.
    const chunks = Array.from({ length: 100 }, (_, at) => `${at} ${"字😀".repeat(20)} "said"\n`);
    const model = await startModelServer({ script: [{ chunks, hold: { after: 99, until: held.promise } }] });
    try {
      const { openai } = loadConfig({ OPENAI_API_KEY: "test-key", OPENAI_BASE_URL: model.url });
      const config = { openai, model: "openai:scripted", graphs: join(projectFolder, "langgraph.json") };
      const [one, other] = [await servers.start(config), await servers.start(config)];
      const { thread_id } = await one.client.threads.create();
      const input = { messages: [{ role: "user", content: "Tell me a lot" }] };
      const run = await one.client.runs.create(thread_id, "agent", { input, context: { mode: "free_work" } });
      const statusAt = async (server: typeof one): Promise<z.infer<typeof Shown>> =>
        Shown.parse(await (await server.send("GET", `/threads/${thread_id}/status`)).json());
      const expected = chunks.slice(0, 99).join("");
      await expect.poll(async () => (await statusAt(one)).streaming_text).toBe(expected);
      await expect.poll(async () => (await statusAt(other)).streaming_text).toBe(expected);
      expect(await statusAt(other)).toEqual(await statusAt(one));
      held.resolve();
      await other.client.runs.join(thread_id, run.run_id);
      expect(await statusAt(other)).toMatchObject({ streaming_text: "", loop: null, is_loading: false });
    } finally {
      held.resolve();
      await servers.close();
      await model.close();
    }
  });
});
