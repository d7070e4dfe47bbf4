import { describe, expect, it } from "vitest";
import type { Run, Session } from "@millrace/engine/storage/records";
import { runRecord, sessionRecord, type StorageFixture, finish } from "./records.ts";

const first = "a".repeat(32);
const second = "b".repeat(32);
const waits = (...ids: string[]): Session["interrupts"] =>
  Object.fromEntries(ids.map((id) => [`task-${id}`, [{ id, value: { question: `about ${id}` } }]]));

/** Approvals follow the interrupts of a session; an answer is stored in one write with the run that carries it. */
export function describeApprovals(fixture: StorageFixture): void {
  const resumes = (id: string, resume: unknown, fields: Partial<Run> = {}): Run => {
    const run = runRecord(id, "s1", fields);
    const { input: _input, ...kwargs } = run.kwargs;
    return { ...run, kwargs: { ...kwargs, command: { resume } } };
  };
  /** A run that ends with these questions. */
  const ask = async (id: string, ...ids: string[]): Promise<void> => {
    await fixture.storage.runs.admit(runRecord(id, "s1"));
    await end(id, ...ids);
  };
  const end = (id: string, ...ids: string[]): Promise<unknown> =>
    finish(fixture.storage, id, { status: "success", session_status: "interrupted", interrupts: waits(...ids) });
  const pendingIds = async (): Promise<string[]> =>
    (await fixture.storage.approvals.pending("s1")).map(({ interrupt_id }) => interrupt_id);
  const create = (): Promise<Session> => fixture.storage.sessions.create(sessionRecord("s1"));

  describe("approvals", () => {
    it("stores the questions with which a run ends, also over a restart", async () => {
      await create();
      await ask("r1", first, second);
      expect(await pendingIds()).toEqual([first, second]);
      const before = await fixture.storage.approvals.get("s1", first);
      expect(before).toMatchObject({
        state: "pending",
        task_id: `task-${first}`,
        value: { question: `about ${first}` },
      });
      const after = await fixture.reopen();
      expect(await after.approvals.get("s1", first)).toEqual(before);
      expect(await after.approvals.get("s1", "c".repeat(32))).toBeUndefined();
      expect(await after.approvals.pending("s2")).toEqual([]);
    });

    it("stores the questions with which a session is created", async () => {
      const waiting = { status: "interrupted" as const, interrupts: waits(first) };
      await fixture.storage.sessions.create({ ...sessionRecord("s1"), ...waiting });
      expect(await pendingIds()).toEqual([first]);
      expect(await (await fixture.reopen()).sessions.get("s1")).toMatchObject(waiting);
    });

    it("removes an answered question from the pending ones when its run is admitted, in any order", async () => {
      await create();
      await ask("r1", first, second);
      await fixture.storage.runs.admit(resumes("r2", { [second]: "no" }), {
        answer: { interrupt_id: second, decided_by: "person" },
      });
      expect(await pendingIds()).toEqual([first]);
      const answered = await fixture.storage.approvals.get("s1", second);
      expect(answered).toMatchObject({ state: "answered", decision: "no", decided_by: "person", run_id: "r2" });
      await fixture.storage.runs.admit(resumes("r3", { [first]: true }));
      expect(await pendingIds()).toEqual([]);
      // The first of the two runs ends before the second one has begun.
      await end("r2", first);
      expect(await pendingIds()).toEqual([]);
      await end("r3");
      expect(await fixture.storage.approvals.get("s1", first)).toMatchObject({ state: "answered", decision: true });
    });

    it("refuses a second answer and does not admit its run", async () => {
      await create();
      await ask("r1", first);
      await fixture.storage.runs.admit(resumes("r2", { [first]: "yes" }));
      await expect(fixture.storage.runs.admit(resumes("r3", { [first]: "no" }))).rejects.toMatchObject({
        code: "conflict",
      });
      await expect(fixture.storage.runs.admit(resumes("r4", "yes"))).rejects.toMatchObject({ code: "conflict" });
      expect(await fixture.storage.runs.get("r3")).toBeUndefined();
      expect(await fixture.storage.approvals.get("s1", first)).toMatchObject({ decision: "yes", run_id: "r2" });
    });

    it("makes a question pending again when the run with its answer ended without using it", async () => {
      await create();
      await ask("r1", first);
      await fixture.storage.runs.admit(resumes("r2", { [first]: "yes" }));
      await end("r2", first);
      expect(await fixture.storage.approvals.pending("s1")).toMatchObject([
        { interrupt_id: first, decision: null, run_id: null, decided_at: null },
      ]);
    });

    it("assigns an answer without an id to all pending questions when it arrives", async () => {
      await create();
      await ask("r1", first, second);
      const { run } = await fixture.storage.runs.admit(resumes("r2", { type: "approve" }));
      const approve = { type: "approve" };
      expect(run.kwargs.command).toEqual({ resume: { [first]: approve, [second]: approve } });
      expect((await fixture.storage.runs.get("r2"))?.kwargs.command).toEqual(run.kwargs.command);
      expect(await pendingIds()).toEqual([]);
    });

    it("marks pending questions as stale for a new input, and pending again if its run leaves them open", async () => {
      await create();
      await ask("r1", first);
      await fixture.storage.runs.admit(runRecord("r2", "s1"));
      expect(await fixture.storage.approvals.get("s1", first)).toMatchObject({ state: "stale" });
      await expect(fixture.storage.runs.admit(resumes("r3", { [first]: "yes" }))).rejects.toMatchObject({
        code: "conflict",
        message: expect.stringContaining("moved on"),
      });
      await end("r2", first);
      expect(await pendingIds()).toEqual([first]);
    });

    it("marks a question as stale when an update of the session's state removes it", async () => {
      await create();
      await ask("r1", first, second);
      await fixture.storage.sessions.update("s1", { interrupts: waits(second) });
      expect(await pendingIds()).toEqual([second]);
      expect(await fixture.storage.approvals.get("s1", first)).toMatchObject({ state: "stale" });
    });

    it("finds questions asked before a date, of all sessions, in pages", async () => {
      await create();
      await ask("r1", first);
      const { asked_at = "" } = (await fixture.storage.approvals.get("s1", first)) ?? {};
      expect(await fixture.storage.approvals.askedBefore(asked_at, { limit: 10, offset: 0 })).toEqual([]);
      const later = new Date(Date.parse(asked_at) + 1).toISOString();
      expect(await fixture.storage.approvals.askedBefore(later, { limit: 10, offset: 0 })).toMatchObject([
        { session_id: "s1" },
      ]);
      expect(await fixture.storage.approvals.askedBefore(later, { limit: 0, offset: 0 })).toEqual([]);
      expect(await fixture.storage.approvals.askedBefore(later, { limit: 10, offset: 1 })).toEqual([]);
    });

    it("stores a grant in one write with its answer, and revokes it", async () => {
      await create();
      await ask("r1", first);
      const grant = { grant_id: "g1", tool: "delete_file", path_pattern: "drafts/*" };
      const answer = { interrupt_id: first, decided_by: "person", grant } as const;
      await expect(
        fixture.storage.runs.admit(resumes("r9", { [second]: "yes" }), { answer: { ...answer, interrupt_id: second } }),
      ).rejects.toMatchObject({ code: "not_found" });
      expect(await fixture.storage.approvals.grants("s1")).toEqual([]);
      await fixture.storage.runs.admit(resumes("r2", { [first]: "yes" }), { answer });
      expect(await fixture.storage.approvals.grants("s1")).toEqual([
        { ...grant, session_id: "s1", interrupt_id: first, created_at: expect.any(String) },
      ]);
      expect(await fixture.storage.approvals.revoke("s2", "g1")).toBe(false);
      expect(await fixture.storage.approvals.revoke("s1", "g1")).toBe(true);
      expect(await fixture.storage.approvals.revoke("s1", "g1")).toBe(false);
    });
  });
}
