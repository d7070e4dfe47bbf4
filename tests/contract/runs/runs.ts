import { describe, expect, it } from "vitest";
import { begunRuns, type RunOutcome, SessionMovedOn } from "@millrace/engine/storage/attempt-store";
import { runRecord, sessionRecord, type StorageFixture, finish, append } from "../records.ts";

const success: RunOutcome = { status: "success", session_status: "idle", interrupts: {} };
const page = { limit: 10, offset: 0 };

function day(number: number): string {
  return new Date(Date.UTC(2026, 0, number)).toISOString();
}

/** Runs: admission, the queue of a session, outcomes. */
export function describeRuns(fixture: StorageFixture): void {
  describe("admission", () => {
    it("writes the run as pending and its session as busy", async () => {
      const { sessions, runs } = fixture.storage;
      await sessions.create(sessionRecord("s1"));
      const run = runRecord("r1", "s1", { event_mark: 7, error: { error: "E", message: "m" } });
      expect(await runs.admit(run)).toEqual({ run });
      expect(await runs.get("r1")).toEqual(run);
      expect((await sessions.get("s1"))?.status).toBe("busy");
      expect(await runs.get("r2")).toBeUndefined();
    });

    it("refuses with `reject` while another run is pending or running, and admits the run afterwards", async () => {
      const { sessions, runs } = fixture.storage;
      await sessions.create(sessionRecord("s1"));
      await sessions.create(sessionRecord("s2"));
      await runs.admit(runRecord("r1", "s1"));
      const rejecting = runRecord("r2", "s1", { multitask_strategy: "reject" });
      const refused = { code: "conflict", message: expect.stringMatching(/^Thread is already running a task\./) };
      await expect(runs.admit(rejecting)).rejects.toMatchObject(refused);
      await runs.claim("s1");
      await expect(runs.admit(rejecting)).rejects.toMatchObject(refused);
      expect(await runs.get("r2")).toBeUndefined();
      await runs.admit(runRecord("r3", "s2", { multitask_strategy: "reject" }));
      await finish(fixture.storage, "r1", success);
      expect((await runs.admit(rejecting)).run.run_id).toBe("r2");
    });

    it("ends a run at the time that its outcome says", async () => {
      const { sessions, runs } = fixture.storage;
      await sessions.create(sessionRecord("s1"));
      await runs.admit(runRecord("r1", "s1"));
      await finish(fixture.storage, "r1", { ...success, ended_at: day(9) });
      expect(await runs.get("r1")).toMatchObject({ status: "success", updated_at: day(9) });
    });

    it("admits exactly one of many parallel runs with `reject`", async () => {
      const { sessions, runs } = fixture.storage;
      await sessions.create(sessionRecord("s1"));
      const tries = Array.from({ length: 30 }, (_, index) =>
        runs.admit(runRecord(`r${index}`, "s1", { multitask_strategy: "reject" })),
      );
      const settled = await Promise.allSettled(tries);
      expect(settled.filter((result) => result.status === "fulfilled")).toHaveLength(1);
      expect(await runs.list("s1", { limit: 100, offset: 0 })).toHaveLength(1);
    });

    it("refuses an unknown session and a run id that exists, and admits the others of the batch", async () => {
      const { sessions, runs } = fixture.storage;
      await sessions.create(sessionRecord("s1"));
      const [first, unknown, taken, last] = await Promise.allSettled([
        runs.admit(runRecord("r1", "s1")),
        runs.admit(runRecord("r2", "nowhere")),
        runs.admit(runRecord("r1", "s1")),
        runs.admit(runRecord("r3", "s1")),
      ]);
      expect([first?.status, last?.status]).toEqual(["fulfilled", "fulfilled"]);
      expect(unknown).toMatchObject({ status: "rejected", reason: { code: "not_found" } });
      expect(taken).toMatchObject({ status: "rejected", reason: { code: "conflict" } });
      expect((await runs.unfinished()).map((run) => run.run_id)).toEqual(["r1", "r3"]);
    });
  });

  describeQueue(fixture);
  describeOutcomes(fixture);
}

function describeQueue(fixture: StorageFixture): void {
  describe("the queue of a session", () => {
    it("starts runs oldest first, one at a time", async () => {
      const { sessions, runs } = fixture.storage;
      await sessions.create(sessionRecord("s1"));
      await sessions.create(sessionRecord("s2"));
      await runs.admit(runRecord("late", "s1", { created_at: day(2) }));
      await runs.admit(runRecord("early", "s1", { created_at: day(1) }));
      await runs.admit(runRecord("same day", "s1", { created_at: day(2) }));
      await runs.admit(runRecord("other", "s2"));
      expect(await runs.claim("s1")).toMatchObject({ run_id: "early", status: "running", attempt: 1 });
      expect(await runs.claim("s1")).toBeUndefined();
      expect(await runs.claim("s2")).toMatchObject({ run_id: "other" });
      await finish(fixture.storage, "early", success);
      expect(await runs.claim("s1")).toMatchObject({ run_id: "late" });
      await finish(fixture.storage, "late", success);
      expect(await runs.claim("s1")).toMatchObject({ run_id: "same day" });
    });

    it("gives a run to one of many parallel claims", async () => {
      const { sessions, runs } = fixture.storage;
      await sessions.create(sessionRecord("s1"));
      await Promise.all(["r1", "r2", "r3"].map((id) => runs.admit(runRecord(id, "s1"))));
      const claims = await Promise.all(Array.from({ length: 10 }, () => runs.claim("s1")));
      expect(claims.filter((run) => run !== undefined).map((run) => run.run_id)).toEqual(["r1"]);
    });

    it("starts a run at its admission if the caller has room, unless it is delayed or another is active", async () => {
      const { sessions, runs } = fixture.storage;
      for (const id of ["free", "busy", "later"]) await sessions.create(sessionRecord(id));
      const hasRoom = true;
      const run = runRecord("r1", "free");
      const admitted = await runs.admit(run, { hasRoom });
      expect(admitted.run).toEqual(run);
      expect(admitted.claimed).toEqual(await runs.get("r1"));
      expect(admitted.claimed).toMatchObject({ status: "running", attempt: 1, crashes: 0 });
      expect(Date.parse(admitted.claimed?.started_at ?? "")).not.toBeNaN();
      expect(await runs.claim("free")).toBeUndefined();
      await fixture.storage.attempt(runRecord("r1", "free", { attempt: 1 })).reserve(1);
      await runs.admit(runRecord("r2", "busy"));
      await runs.admit(runRecord("r3", "free"), { hasRoom });
      for (const waiting of [
        runRecord("r4", "busy"),
        runRecord("r5", "later", { created_at: "2999-01-01T00:00:00.000Z" }),
      ]) {
        expect((await runs.admit(waiting, { hasRoom })).claimed).toBeUndefined();
        expect(await runs.get(waiting.run_id)).toMatchObject({ status: "pending", attempt: 0 });
      }
      expect((await runs.get("r3"))?.status).toBe("pending");
    });

    it("does not start a run before its time", async () => {
      const { sessions, runs } = fixture.storage;
      await sessions.create(sessionRecord("s1"));
      await runs.admit(runRecord("r1", "s1", { created_at: "2999-01-01T00:00:00.000Z" }));
      expect(await runs.claim("s1")).toBeUndefined();
      expect((await runs.get("r1"))?.status).toBe("pending");
    });

    it("starts a run without delay, also where the machine's clock was set back since (reliability T3)", async () => {
      const { sessions, runs } = fixture.storage;
      await sessions.create(sessionRecord("s1"));
      const ahead = "2999-01-01T00:00:00.000Z";
      await runs.admit(runRecord("r1", "s1", { created_at: ahead, updated_at: ahead }));
      expect(await runs.claim("s1")).toMatchObject({ run_id: "r1", status: "running" });
    });

    it("counts an attempt for a run that was running at a crash, and only for such a run", async () => {
      const { sessions, runs } = fixture.storage;
      await sessions.create(sessionRecord("s1"));
      await runs.admit(runRecord("r1", "s1"));
      expect(await runs.reclaim("r1")).toBeUndefined();
      await runs.claim("s1");
      expect(await runs.reclaim("r1")).toMatchObject({ status: "running", attempt: 2 });
      expect(await runs.reclaim("r1")).toMatchObject({ attempt: 3 });
      await finish(fixture.storage, "r1", success);
      expect(await runs.reclaim("r1")).toBeUndefined();
    });

    it("lists the sessions of temporary runs that have ended", async () => {
      const { sessions, runs } = fixture.storage;
      for (const id of ["kept", "over", "going"]) await sessions.create(sessionRecord(id));
      const temporary = (id: string, session: string) => {
        const run = runRecord(id, session);
        return { ...run, kwargs: { ...run.kwargs, temporary: true } };
      };
      await runs.admit(runRecord("r1", "kept"));
      await runs.admit(temporary("r2", "over"));
      await runs.admit(temporary("r3", "going"));
      for (const id of ["r1", "r2"]) await finish(fixture.storage, id, success);
      const [past, future] = [day(1), "2999-01-01T00:00:00.000Z"];
      expect(await runs.leftTemporary(past)).toEqual(["over"]);
      await sessions.create(sessionRecord("keyed"));
      await runs.admit(temporary("r4", "keyed"), { submission: { key: "k", hash: "h" } });
      expect(await runs.leftTemporary(future)).toEqual(["over"]);
      expect(await Promise.all(["r4", "r3", "r0"].map((id) => runs.hasKey(id)))).toEqual([true, false, false]);
      await finish(fixture.storage, "r4", success);
      expect(await runs.leftTemporary(past)).toEqual(["over"]);
      expect((await runs.leftTemporary(future)).toSorted()).toEqual(["keyed", "over"]);
    });

    it("lists runs newest first, by status and in pages, and all unfinished ones oldest first", async () => {
      const { sessions, runs } = fixture.storage;
      for (const id of ["s1", "s2"]) await sessions.create(sessionRecord(id));
      for (const number of [1, 2, 3]) await runs.admit(runRecord(`r${number}`, "s1", { created_at: day(number) }));
      await runs.admit(runRecord("r4", "s2", { created_at: day(1) }));
      await runs.claim("s1");
      const idsOf = (found: { run_id: string }[]) => found.map((run) => run.run_id);
      expect(idsOf(await runs.list("s1", page))).toEqual(["r3", "r2", "r1"]);
      expect(idsOf(await runs.list("s1", { limit: 1, offset: 1 }))).toEqual(["r2"]);
      expect(idsOf(await runs.list("s1", { ...page, status: "pending" }))).toEqual(["r3", "r2"]);
      expect(idsOf(await runs.unfinished())).toEqual(["r1", "r4", "r2", "r3"]);
      await finish(fixture.storage, "r1", success);
      await finish(fixture.storage, "r3", { ...success, status: "interrupted" });
      expect(idsOf(await runs.unfinished())).toEqual(["r4", "r2"]);
      expect((await runs.held()).toSorted()).toEqual(["r2", "r4"]);
    });
  });
}

function describeOutcomes(fixture: StorageFixture): void {
  describe("the outcome of a run", () => {
    it("is written once, with the session's status and interrupts", async () => {
      const { sessions, runs } = fixture.storage;
      await sessions.create(sessionRecord("s1"));
      await runs.admit(runRecord("r1", "s1"));
      await runs.claim("s1");
      const interrupts = { task: [{ id: "i1", value: "sure?" }] };
      const failure = { error: "AppError", message: "no" };
      const ended = await finish(fixture.storage, "r1", {
        status: "error",
        error: failure,
        session_status: "error",
        interrupts,
      });
      expect(ended).toMatchObject({ status: "error", error: failure });
      expect(await runs.get("r1")).toEqual(ended);
      expect(await sessions.get("s1")).toMatchObject({ status: "error", interrupts });
      expect(await finish(fixture.storage, "r1", success)).toBeUndefined();
      expect(await finish(fixture.storage, "unknown", success)).toBeUndefined();
      expect(await sessions.get("s1")).toMatchObject({ status: "error", interrupts });
    });

    it("is that of one of two concurrent writers", async () => {
      const { sessions, runs } = fixture.storage;
      await sessions.create(sessionRecord("s1"));
      await runs.admit(runRecord("r1", "s1"));
      const outcomes = await Promise.all([
        finish(fixture.storage, "r1", success),
        finish(fixture.storage, "r1", { ...success, status: "interrupted" }),
      ]);
      expect(outcomes.map((run) => run?.status)).toEqual(["success", undefined]);
      expect((await runs.get("r1"))?.status).toBe("success");
    });

    it("is refused to a run that has not begun when the session was read before another run ended", async () => {
      const { sessions, runs } = fixture.storage;
      await sessions.create(sessionRecord("s1"));
      for (const id of ["r1", "r2"]) await runs.admit(runRecord(id, "s1"));
      await runs.claim("s1");
      const readAt = begunRuns(await runs.marks("s1"));
      await finish(fixture.storage, "r1", success);
      const stopped = { ...success, status: "interrupted", session_status: "interrupted" } as const;
      await expect(finish(fixture.storage, "r2", { ...stopped, readAt })).rejects.toThrow(SessionMovedOn);
      expect((await runs.get("r2"))?.status).toBe("pending");
      const again = { ...success, status: "interrupted", readAt: begunRuns(await runs.marks("s1")) } as const;
      expect(await finish(fixture.storage, "r2", again)).toMatchObject({ status: "interrupted" });
      expect((await sessions.get("s1"))?.status).toBe("idle");
    });

    it("leaves the session busy while another run of it is pending or running", async () => {
      const { sessions, runs } = fixture.storage;
      await sessions.create(sessionRecord("s1"));
      for (const id of ["r1", "r2", "r3"]) await runs.admit(runRecord(id, "s1"));
      await runs.claim("s1");
      await finish(fixture.storage, "r3", { ...success, status: "interrupted" });
      expect((await sessions.get("s1"))?.status).toBe("busy");
      await finish(fixture.storage, "r1", success);
      expect((await sessions.get("s1"))?.status).toBe("busy");
      await runs.claim("s1");
      await finish(fixture.storage, "r2", success);
      expect((await sessions.get("s1"))?.status).toBe("idle");
    });

    it("is deleted with the run, and the session is idle again", async () => {
      const { sessions, runs, events } = fixture.storage;
      await sessions.create(sessionRecord("s1"));
      await runs.admit(runRecord("r1", "s1"));
      await append(fixture.storage, "s1", "r1", [{ id: 0, event: "error", data: { error: "E", message: "m" } }]);
      expect(await runs.delete("r1")).toBe(true);
      expect(await runs.delete("r1")).toBe(false);
      expect(await runs.get("r1")).toBeUndefined();
      expect(await events.read("r1", -1, 10)).toEqual([]);
      expect((await sessions.get("s1"))?.status).toBe("idle");
    });
  });
}
