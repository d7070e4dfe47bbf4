import { describe, expect, it } from "vitest";
import { sampleEvents } from "./events.ts";
import { runRecord, sessionRecord, type StorageFixture, append } from "../records.ts";

/** A storage that is closed and opened again has all its data. */
export function describeRestart(fixture: StorageFixture): void {
  describe("a restart", () => {
    it("keeps sessions, runs, events, the ledger and tasks", async () => {
      const before = fixture.storage;
      await before.sessions.create(sessionRecord("s1", { metadata: { a: 1 } }));
      await before.runs.admit(runRecord("r1", "s1"));
      const run = await before.runs.claim("s1");
      await append(before, "s1", "r1", sampleEvents());
      const call = { session_id: "s1", run_id: "r1", tool: "t", effect: "unsafe" } as const;
      await before.manualCalls.ledger.start({ ...call, tool_call_id: "ended" });
      await before.manualCalls.ledger.finish("s1", "ended", { text: "done" });
      await before.manualCalls.ledger.start({ ...call, tool_call_id: "begun" });
      const created_at = "2026-01-01T00:00:00.000Z";
      const dates = {
        owner: null,
        session_id: null,
        scheduled_dates: ["2026-01-02"],
        created_at,
        updated_at: created_at,
      };
      const task = await before.tasks.create({ task_id: "t1", title: "T", completed: false, area_id: null, ...dates });
      const session = await before.sessions.get("s1");

      const after = await fixture.reopen();
      expect(await after.sessions.get("s1")).toEqual(session);
      expect(await after.runs.unfinished()).toEqual([run]);
      expect(await after.events.read("r1", -1, 100)).toEqual(sampleEvents());
      expect(await after.manualCalls.ledger.start({ ...call, tool_call_id: "ended" })).toEqual({
        kind: "finished",
        result: { text: "done" },
      });
      expect(await after.manualCalls.ledger.start({ ...call, tool_call_id: "begun" })).toMatchObject({
        kind: "unknown",
      });
      expect(await after.tasks.get("t1")).toEqual(task);
    });

    it("finds everything that was in flight when the storage was closed, and a second close does nothing", async () => {
      const before = fixture.storage;
      await before.sessions.create(sessionRecord("s1"));
      const admitted = Promise.all(["r1", "r2"].map((id) => before.runs.admit(runRecord(id, "s1"))));
      await before.close();
      await admitted;
      await before.close();
      const after = await fixture.reopen();
      expect((await after.runs.unfinished()).map((run) => run.run_id)).toEqual(["r1", "r2"]);
    });
  });
}
