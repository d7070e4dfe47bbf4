import { describe, expect, it } from "vitest";
import type { RunOutcome } from "@millrace/engine/storage/attempt-store";
import { runRecord, sessionRecord, type StorageFixture, finish } from "../records.ts";

const stopped: RunOutcome = { status: "interrupted", session_status: "idle", interrupts: {} };

/** A stop request is stored, so that it survives the process that received it. */
export function describeRunStops(fixture: StorageFixture): void {
  async function admit(id: string, session: string, fields: Parameters<typeof runRecord>[2] = {}): Promise<void> {
    const { sessions, runs } = fixture.storage;
    if ((await sessions.get(session)) === undefined) await sessions.create(sessionRecord(session));
    await runs.admit(runRecord(id, session, fields));
  }
  const asked = async (...ids: string[]) =>
    await Promise.all(ids.map(async (id) => (await fixture.storage.runs.get(id))?.stop_requested));

  describe("a stop request", () => {
    it("is still there after a restart, and a rollback remains a rollback", async () => {
      for (const id of ["kept", "removed", "twice", "other"]) await admit(id, id);
      const { runs } = fixture.storage;
      await runs.claim("kept");
      await runs.requestStop("kept", "interrupt");
      await runs.requestStop("removed", "rollback");
      await runs.requestStop("twice", "rollback");
      await runs.requestStop("twice", "interrupt");
      await runs.requestStop("unknown", "interrupt");
      await fixture.reopen();
      expect(await asked("kept", "removed", "twice", "other")).toEqual(["interrupt", "rollback", "rollback", null]);
    });

    it("keeps the reason of the first request, also after a restart and after the run's end", async () => {
      for (const id of ["said", "silent", "over"]) await admit(id, id);
      const { runs } = fixture.storage;
      await finish(fixture.storage, "over", stopped);
      await runs.requestStop("over", "interrupt", "too late");
      await runs.requestStop("silent", "interrupt");
      await runs.requestStop("said", "interrupt");
      await runs.requestStop("said", "interrupt", "wrong file");
      await runs.requestStop("said", "rollback", "another one");
      expect(await finish(fixture.storage, "said", stopped)).toMatchObject({ cancel_reason: "wrong file" });
      await fixture.reopen();
      const reasons = ["said", "silent", "over"].map(async (id) => (await fixture.storage.runs.get(id))?.cancel_reason);
      expect(await Promise.all(reasons)).toEqual(["wrong file", undefined, undefined]);
    });

    it("keeps a pending run from starting, but not the one behind it", async () => {
      await admit("first", "s1");
      await admit("second", "s1");
      const { runs } = fixture.storage;
      await runs.requestStop("first", "interrupt");
      expect(await runs.claim("s1")).toMatchObject({ run_id: "second" });
      expect(await runs.get("first")).toMatchObject({ status: "pending", attempt: 0 });
    });

    it("is for one caller where it is only for a run that waits, which then is not begun", async () => {
      for (const id of ["waits", "asked", "runs", "over"]) await admit(id, id);
      await admit("next", "waits");
      const { runs } = fixture.storage;
      await runs.requestStop("asked", "interrupt");
      await runs.claim("runs");
      await finish(fixture.storage, "over", stopped);
      const takeOut = async (id: string) => await runs.requestStop(id, "interrupt", "edited", "pending");
      const both = await Promise.all([takeOut("waits"), takeOut("waits")]);
      expect(both.toSorted()).toEqual([false, true]);
      expect(await runs.claim("waits")).toMatchObject({ run_id: "next" });
      expect(await Promise.all(["asked", "runs", "over", "unknown"].map(takeOut))).toEqual([
        false,
        false,
        false,
        false,
      ]);
      await fixture.reopen();
      expect(await asked("waits", "asked", "runs", "over")).toEqual(["interrupt", "interrupt", null, null]);
    });

    it("or a claim, of a run that waits, comes first", async () => {
      const ids = Array.from({ length: 20 }, (_, number) => `r${number}`);
      for (const id of ids) await admit(id, id);
      const { runs } = fixture.storage;
      const outcomes = await Promise.all(
        ids.map(async (id) => {
          const [claimed, isTakenOut] = await Promise.all([
            runs.claim(id),
            runs.requestStop(id, "interrupt", undefined, "pending"),
          ]);
          return (claimed === undefined) === isTakenOut;
        }),
      );
      expect(outcomes).toEqual(ids.map(() => true));
    });

    it("changes no run that has ended", async () => {
      await admit("r1", "s1");
      const { runs } = fixture.storage;
      await finish(fixture.storage, "r1", { ...stopped, status: "success" });
      await runs.requestStop("r1", "rollback");
      expect(await asked("r1")).toEqual([null]);
      expect(await runs.leftRollbacks()).toEqual([]);
    });

    it("lists the rollbacks that have ended and are not yet removed", async () => {
      for (const id of ["left", "gone", "going", "kept"]) await admit(id, id);
      const { runs } = fixture.storage;
      for (const id of ["left", "gone", "going"]) await runs.requestStop(id, "rollback");
      await runs.requestStop("kept", "interrupt");
      for (const id of ["left", "gone", "kept"]) await finish(fixture.storage, id, stopped);
      await runs.delete("gone");
      expect((await runs.leftRollbacks()).map(({ run_id }) => run_id)).toEqual(["left"]);
    });
  });

  it("a run records when it was last changed", async () => {
    expect(await fixture.storage.runs.lastChange()).toBeUndefined();
    for (const id of ["early", "late", "waits"]) await admit(id, id);
    await finish(fixture.storage, "late", { ...stopped, ended_at: "2999-01-02T00:00:00.000Z" });
    await finish(fixture.storage, "early", { ...stopped, ended_at: "2999-01-01T00:00:00.000Z" });
    await fixture.reopen();
    expect(await fixture.storage.runs.lastChange()).toBe("2999-01-02T00:00:00.000Z");
  });

  describe("the admission of a run that interrupts others", () => {
    it.each(["interrupt", "rollback"] as const)("requests their stop in the same write (%s)", async (strategy) => {
      for (const id of ["over", "walks", "waits"]) await admit(id, "s1");
      await admit("elsewhere", "s2");
      const { runs } = fixture.storage;
      await finish(fixture.storage, "over", stopped);
      await runs.claim("s1");
      await admit("new", "s1", { multitask_strategy: strategy });
      await fixture.reopen();
      const ids = ["over", "walks", "waits", "new", "elsewhere"];
      expect(await asked(...ids)).toEqual([null, strategy, strategy, null, null]);
    });

    it("requests no stop when it is refused", async () => {
      await admit("walks", "s1");
      const { runs } = fixture.storage;
      const refused = runs.admit(runRecord("new", "s1", { multitask_strategy: "interrupt" }), { queueLimit: 1 });
      await expect(refused).rejects.toMatchObject({ code: "rate_limit" });
      await expect(admit("walks", "s1", { multitask_strategy: "rollback" })).rejects.toMatchObject({
        code: "conflict",
      });
      expect(await asked("walks")).toEqual([null]);
    });
  });
}
