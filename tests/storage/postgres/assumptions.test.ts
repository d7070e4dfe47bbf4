import { emptyCheckpoint } from "@langchain/langgraph-checkpoint";
import { afterAll, describe, expect, it } from "vitest";
import { createPostgresStorage } from "@millrace/engine/storage/postgres/storage";
import { runRecord, sessionRecord } from "../../contract/records.ts";
import { startPostgres, withClient } from "../../support/processes/postgres.ts";

const server = await startPostgres();
afterAll(() => server?.stop());

const place = { configurable: { thread_id: "s1", checkpoint_ns: "", run_id: "r1" } };

describe.skipIf(server === undefined)("a first write of a run", () => {
  it("reads again when another server has meanwhile made the rows that it took for new", async () => {
    const url = (await server?.create()) ?? "";
    const storage = await createPostgresStorage(url);
    try {
      await storage.sessions.create(sessionRecord("s1"));
      await storage.runs.admit(runRecord("r1", "s1"), { hasRoom: true });
      // Found empty, so that the write does not read it again.
      expect(await storage.checkpointer.getTuple(place)).toBeUndefined();
      await withClient(url, async (client) => {
        await client.query("INSERT INTO checkpoint_threads (key, thread_id) VALUES (-1, 's1')");
        await client.query("INSERT INTO checkpoint_runs (key, thread, run_id) VALUES (-2, -1, 'r1')");
      });
      const attempt = storage.attempt({ session_id: "s1", run_id: "r1", attempt: 1 });
      const saver = attempt.checkpointer({ flushWith: (write) => write([], []) });
      const checkpoint = emptyCheckpoint();
      await saver.put(place, checkpoint, { source: "loop", step: 0, parents: {} }, {});
      expect((await storage.checkpointer.getTuple(place))?.checkpoint.id).toBe(checkpoint.id);
      const { rows } = await withClient(url, (client) => client.query("SELECT thread_id FROM checkpoint_threads"));
      expect(rows).toEqual([{ thread_id: "s1" }]);
    } finally {
      await storage.close();
    }
  });

  it("starts no tool call when PostgreSQL has lost a state that it had confirmed", async () => {
    const url = (await server?.create()) ?? "";
    const storage = await createPostgresStorage(url);
    try {
      await storage.sessions.create(sessionRecord("s1"));
      await storage.runs.admit(runRecord("r1", "s1"), { hasRoom: true });
      const attempt = storage.attempt({ session_id: "s1", run_id: "r1", attempt: 1 });
      const saver = attempt.checkpointer({ flushWith: (write) => write([], []) });
      // The state of an input may wait for the next one; this one is committed when the promise resolves.
      await saver.put(place, emptyCheckpoint(), { source: "loop", step: 0, parents: {} }, {});
      await withClient(url, (client) => client.query("UPDATE runs SET writes = 0"));
      const call = { session_id: "s1", run_id: "r1", tool_call_id: "c1", tool: "t", effect: "unsafe" } as const;
      await expect(attempt.ledger.start(call)).rejects.toMatchObject({ code: "storage_unavailable" });
      expect(attempt.isLost).toBe(true);
      expect(await storage.ledger.list("s1")).toEqual([]);
    } finally {
      await storage.close();
    }
  });
});
