import { afterAll, describe, expect, it } from "vitest";
import { createPostgresStorage } from "@millrace/engine/storage/postgres/storage";
import { runRecord, sessionRecord } from "../../contract/records.ts";
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

  it("lets a pure call end whose start it has lost, and no other", async () => {
    const url = (await server?.create()) ?? "";
    const storage = await createPostgresStorage(url);
    try {
      await storage.sessions.create(sessionRecord("s1"));
      const { claimed } = await storage.runs.admit(runRecord("r1", "s1"), { hasRoom: true });
      const { ledger } = storage.attempt({ run_id: "r1", session_id: "s1", attempt: claimed?.attempt });
      const start = (effect: "pure" | "unsafe") =>
        ledger.start({ session_id: "s1", tool_call_id: effect, run_id: "r1", tool: "a_tool", effect });
      await Promise.all([start("pure"), start("unsafe")]);
      await withClient(url, (client) => client.query("DELETE FROM tool_calls"));
      await ledger.finish("s1", "pure", "done");
      expect(await ledger.get("s1", "pure")).toMatchObject({ tool: "a_tool", state: "finished", result: "done" });
      expect(await start("pure")).toEqual({ kind: "finished", result: "done" });
      await expect(ledger.finish("s1", "unsafe", "done")).rejects.toMatchObject({ code: "invalid_state" });
    } finally {
      await storage.close();
    }
  });
});
