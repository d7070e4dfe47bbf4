import { describe, expect, it } from "vitest";
import type { RunQuery } from "@millrace/engine/storage/overview";
import { finish, runRecord, sessionRecord, type StorageFixture } from "./records.ts";

const asked = (id: string) => ({
  task: [{ id, value: { question: id }, resumable: true, ns: [], when: "during" as const }],
});

/** Queries over all sessions. */
export function describeOverview(fixture: StorageFixture): void {
  describe("an overview of all sessions", () => {
    const all = { sessions: {}, limit: 10 };
    const fill = async (): Promise<void> => {
      const { sessions, runs } = fixture.storage;
      await sessions.create(sessionRecord("s1", { owner: "ada", metadata: { team: "red" } }));
      await sessions.create(sessionRecord("s2", { owner: "bob", metadata: { team: "blue" } }));
      await sessions.create(sessionRecord("s3", { owner: null }));
      for (const [number, session] of ["s1", "s2", "s3", "s1"].entries()) {
        const created_at = `2026-01-01T00:0${number}:30.000Z`;
        const metadata = number === 3 ? { cron_id: "c\\1" } : {};
        const graph_id = session === "s2" ? "other" : "agent";
        await runs.admit(runRecord(`r${number}`, session, { created_at, metadata, graph_id }));
        if (number === 3) continue;
        await runs.claim(session);
        const error = { error: "timeout", message: "late" };
        const failed = { status: "error", error, session_status: "idle", interrupts: {} } as const;
        await finish(fixture.storage, `r${number}`, failed, 1);
      }
    };
    const ids = async (query: Partial<RunQuery>): Promise<string[]> =>
      (await fixture.storage.overview.runs({ ...all, ...query })).rows.map(({ run_id }) => run_id);

    it("finds runs newest first, by every filter", async () => {
      await fill();
      expect(await ids({})).toEqual(["r3", "r2", "r1", "r0"]);
      expect(await ids({ sessions: { owner: { name: "ada", orphans: false } } })).toEqual(["r3", "r0"]);
      expect(await ids({ sessions: { owner: { name: "ada", orphans: true } } })).toEqual(["r3", "r2", "r0"]);
      expect(await ids({ sessions: { metadata: { team: "blue" } } })).toEqual(["r1"]);
      expect(await ids({ session_id: "s1", status: "error" })).toEqual(["r0"]);
      expect(await ids({ graph_id: "other", assistant_id: "agent" })).toEqual(["r1"]);
      expect(await ids({ cron_id: "c\\1" })).toEqual(["r3"]);
      expect(await ids({ error: "timeout" })).toEqual(["r2", "r1", "r0"]);
      const [from, to] = ["2026-01-01T00:01:30.000Z", "2026-01-01T00:02:30.000Z"];
      expect(await ids({ from, to })).toEqual(["r1"]);
    });

    it("returns runs in pages, and refuses an invalid cursor", async () => {
      await fill();
      const { overview } = fixture.storage;
      const first = await overview.runs({ ...all, limit: 3 });
      expect(first.rows).toHaveLength(3);
      const second = await overview.runs({ ...all, limit: 3, cursor: first.next ?? "" });
      expect([second.rows.map(({ run_id }) => run_id), second.next]).toEqual([["r0"], null]);
      expect((await overview.runs({ ...all, limit: 4 })).next).toBeNull();
      await expect(overview.runs({ ...all, cursor: "x" })).rejects.toMatchObject({ code: "invalid_parameter" });
    });

    it("counts runs by time span and status, and counts running runs and pending questions", async () => {
      await fill();
      const { overview } = fixture.storage;
      expect(await overview.histogram({ sessions: {}, seconds: 120 })).toEqual([
        { at: "2026-01-01T00:00:00.000Z", status: "error", count: 2 },
        { at: "2026-01-01T00:02:00.000Z", status: "error", count: 1 },
        { at: "2026-01-01T00:02:00.000Z", status: "pending", count: 1 },
      ]);
      expect(await overview.working({})).toBe(1);
      expect(await overview.working({ owner: { name: "bob", orphans: false } })).toBe(0);
      expect(await overview.waiting({})).toBe(0);
    });

    it("finds the questions of all sessions, pending ones oldest first", async () => {
      await fill();
      const { overview, sessions } = fixture.storage;
      await sessions.update("s2", { interrupts: asked("first") });
      await expect
        .poll(() => new Date().toISOString())
        .not.toBe((await overview.approvals({ ...all, state: "pending" })).rows[0]?.asked_at);
      await sessions.update("s3", { interrupts: asked("second") });
      const waiting = await overview.approvals({ ...all, state: "pending", limit: 1 });
      expect(waiting.rows.map(({ interrupt_id }) => interrupt_id)).toEqual(["first"]);
      const next = await overview.approvals({ ...all, state: "pending", cursor: waiting.next ?? "" });
      expect(next.rows.map(({ interrupt_id }) => interrupt_id)).toEqual(["second"]);
      expect(await overview.waiting({})).toBe(2);
      expect(await overview.waiting({ owner: { name: "bob", orphans: false } })).toBe(1);
      await sessions.update("s3", { interrupts: {} });
      const stale = await overview.approvals({ ...all, state: "stale" });
      expect(stale.rows.map(({ session_id }) => session_id)).toEqual(["s3"]);
      const other = await overview.approvals({ ...all, state: "pending", graph_id: "other", session_id: "s2" });
      expect(other.rows).toHaveLength(1);
      expect((await overview.approvals({ ...all, state: "pending", graph_id: "agent" })).rows).toEqual([]);
    });
  });
}
