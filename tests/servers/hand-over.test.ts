import { mkdtemp } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { answer } from "../faults/harness/script.ts";
import { openWorld } from "../faults/harness/world.ts";
import { startPostgres, withClient } from "../support/processes/postgres.ts";
import { ServerProcess } from "../support/processes/server-process.ts";
import { projectFolder } from "../support/source-files.ts";

const postgres = await startPostgres();
afterAll(() => postgres?.stop());

/** Scenario `upgrade` of the fault suite does this under load. */
describe.skipIf(postgres === undefined)("a server, after one of a later version has started beside it,", () => {
  it("hands its runs over and exits", { timeout: 180_000 }, async () => {
    const database = (await postgres?.create()) ?? "";
    const rows = (sql: string) => withClient(database, async (one) => (await one.query(sql)).rows);
    const world = await openWorld(answer, { environment: { MILLRACE_DATABASE: database } });
    const hook = join(projectFolder, "tests/faults/harness/hooks/newer-schema-hook.ts");
    const later = new ServerProcess(await mkdtemp(join(world.folder, "later-")), world.workspace, ["--import", hook]);
    later.configure({ ...world.settings, NEWER_SCHEMA: "incompatible" });
    try {
      const { client } = world.server;
      const { thread_id } = await client.threads.create();
      const input = { item: "w1", steps: 5_000, pause: 50 };
      const walking = await client.runs.create(thread_id, "walker", { input, config: { recursion_limit: 10_000 } });
      const waiting = await client.runs.create(thread_id, "walker", {
        input: { item: "w2", steps: 1 },
        multitaskStrategy: "enqueue",
      });
      await expect.poll(async () => (await client.runs.get(thread_id, walking.run_id)).status).toBe("running");
      await later.start();
      expect(await world.server.ended()).toEqual({ code: 3, signal: null });
      await expect
        .poll(() => rows("SELECT attempt, status FROM runs ORDER BY id LIMIT 1"))
        .toEqual([{ attempt: 2, status: "running" }]);
      await later.client.runs.cancel(thread_id, walking.run_id, true);
      await later.client.runs.join(thread_id, waiting.run_id);
      expect((await later.client.threads.getState(thread_id)).values).toMatchObject({ item: "w2" });
      expect(await rows("SELECT status, attempt, crashes FROM runs ORDER BY id")).toEqual([
        { status: "interrupted", attempt: 2, crashes: 0 },
        { status: "success", attempt: 1, crashes: 0 },
      ]);
    } finally {
      await later.end("SIGKILL");
      await world.close();
    }
  });
});
