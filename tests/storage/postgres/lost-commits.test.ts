import { afterAll, describe, expect, it } from "vitest";
import { openGate } from "../../support/test-graphs.ts";
import { startTestServer } from "../../support/test-server.ts";
import { startPostgres, withClient } from "../../support/processes/postgres.ts";

const server = await startPostgres();
afterAll(() => server?.stop());

describe.skipIf(server === undefined)("a database that restarts without its newest commits", () => {
  it("lets the runs that wrote them continue from what is left, and counts no crash", async () => {
    const url = (await server?.create()) ?? "";
    const query = (sql: string) => withClient(url, async (client) => (await client.query(sql)).rows);
    const served = await startTestServer({ database: url });
    try {
      const { client } = served;
      const { thread_id } = await client.threads.create();
      const gate = crypto.randomUUID();
      const streamed = client.runs.stream(thread_id, "gated", {
        input: { gate },
        streamMode: ["custom", "values"],
        streamResumable: true,
      });
      for await (const part of streamed) if (part.event === "custom") break;
      const stored = "SELECT count(*)::int AS count FROM run_events WHERE last_id >= 2";
      await expect.poll(() => query(stored)).toEqual([{ count: 1 }]);
      // What a crash of PostgreSQL loses: the newest commits that did not wait for the disk.
      await query("DELETE FROM run_events WHERE last_id >= 2");
      await query("UPDATE runs SET writes = writes - 1");
      openGate(gate);
      const [run] = await client.runs.list(thread_id);
      await expect.poll(async () => (await client.runs.get(thread_id, run?.run_id ?? "")).status).toBe("success");
      expect((await client.threads.getState(thread_id)).values).toMatchObject({ passed: true });
      expect(await query("SELECT attempt, crashes FROM runs")).toEqual([{ attempt: 2, crashes: 0 }]);
      expect(await client.runs.wait(thread_id, "counter", { input: { value: 1 } })).toMatchObject({ value: 2 });
    } finally {
      await served.remove();
    }
  });
});
