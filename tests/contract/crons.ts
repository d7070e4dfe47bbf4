import { describe, expect, it } from "vitest";
import type { Cron } from "@millrace/engine/storage/record-stores";
import { runRecord, sessionRecord, type StorageFixture } from "./records.ts";

/** A cron record with the given `fields`. */
export function cronRecord(cron_id: string, fields: Partial<Cron> = {}): Cron {
  const created_at = "2026-01-01T00:00:00.000Z";
  return {
    cron_id,
    owner: null,
    assistant_id: "agent",
    session_id: null,
    schedule: "0 * * * *",
    timezone: null,
    end_time: null,
    payload: { assistant_id: "agent", input: { deep: [1, null] } },
    metadata: {},
    enabled: true,
    on_run_completed: "delete",
    next_run_date: "2026-01-01T01:00:00.000Z",
    created_at,
    updated_at: created_at,
    ...fields,
  };
}

const hour = (at: number): string => `2026-01-01T0${at}:00:00.000Z`;

/** Scheduled runs (wire contract, section 2.4). */
export function describeCrons(fixture: StorageFixture): void {
  describe("crons", () => {
    const create = (...crons: Cron[]) => Promise.all(crons.map((cron) => fixture.storage.crons.create(cron)));

    it("survive a restart unchanged", async () => {
      await fixture.storage.sessions.create(sessionRecord("s1"));
      const all = [
        cronRecord("c1", { owner: "ada", session_id: "s1", timezone: "Europe/Berlin", metadata: { a: { b: 1 } } }),
        cronRecord("c2", { enabled: false, next_run_date: null, end_time: hour(9), on_run_completed: "keep" }),
      ];
      await create(...all);
      const { crons } = await fixture.reopen();
      expect([await crons.get("c1"), await crons.get("c2")]).toEqual(all);
      expect(await crons.get("c3")).toBeUndefined();
    });

    it("are updated field by field, and metadata is merged", async () => {
      await create(cronRecord("c1", { metadata: { a: 1, b: 1 }, timezone: "UTC" }));
      const changed = await fixture.storage.crons.update("c1", { metadata: { b: 2 }, timezone: null, enabled: false });
      expect(changed).toEqual({
        ...cronRecord("c1", { metadata: { a: 1, b: 2 }, enabled: false }),
        updated_at: expect.any(String),
      });
      expect(await fixture.storage.crons.get("c1")).toEqual(changed);
      expect(await fixture.storage.crons.update("c2", { enabled: true })).toBeUndefined();
    });

    it("are deleted alone or with their session, and need a session that exists", async () => {
      await fixture.storage.sessions.create(sessionRecord("s1"));
      await create(cronRecord("c1"), cronRecord("c2", { session_id: "s1" }));
      expect(await fixture.storage.crons.delete("c1")).toBe(true);
      expect(await fixture.storage.crons.delete("c1")).toBe(false);
      await fixture.storage.sessions.delete("s1");
      expect(await fixture.storage.crons.search({ limit: 10, offset: 0 })).toEqual({ crons: [], total: 0 });
      await expect(create(cronRecord("c3", { session_id: "s1" }))).rejects.toMatchObject({ code: "not_found" });
    });

    it("are found by owner, session, assistant, state and metadata, sorted and in pages", async () => {
      await fixture.storage.sessions.create(sessionRecord("s1"));
      const list = Array.from({ length: 30 }, (_, n) => n);
      await create(
        cronRecord("c1", { owner: "ada", session_id: "s1", created_at: hour(1), next_run_date: hour(9) }),
        cronRecord("c2", { owner: "bob", enabled: false, created_at: hour(2), next_run_date: null }),
        cronRecord("c3", { assistant_id: "other", created_at: hour(3), metadata: { a: { b: 1, c: 2 }, list } }),
      );
      const found = async (query: object): Promise<string[]> =>
        (await fixture.storage.crons.search({ limit: 10, offset: 0, ...query })).crons.map(({ cron_id }) => cron_id);
      expect(await found({})).toEqual(["c3", "c2", "c1"]);
      expect(await found({ sort_by: "next_run_date", sort_order: "asc" })).toEqual(["c2", "c3", "c1"]);
      expect(await found({ sort_by: "thread_id" })).toEqual(["c1", "c3", "c2"]);
      expect(await found({ limit: 1, offset: 1 })).toEqual(["c2"]);
      expect(await found({ owner: { name: "ada", orphans: false } })).toEqual(["c1"]);
      expect(await found({ owner: { name: "ada", orphans: true } })).toEqual(["c3", "c1"]);
      expect(await found({ session_id: "s1" })).toEqual(["c1"]);
      expect(await found({ session_id: "s2" })).toEqual([]);
      expect(await found({ assistant_id: "other" })).toEqual(["c3"]);
      expect(await found({ enabled: false })).toEqual(["c2"]);
      expect(await found({ metadata: { a: { b: 1 } } })).toEqual(["c3"]);
      expect(await found({ metadata: { list: list.toReversed() } })).toEqual(["c3"]);
      expect(await found({ metadata: { list: [...list, 30] } })).toEqual([]);
      expect(await fixture.storage.crons.search({ enabled: true, limit: 1, offset: 0 })).toMatchObject({ total: 2 });
    });

    it("are due in the order of their dates, if they are enabled", async () => {
      const dates: string[] = [];
      fixture.storage.crons.onDueDate((date) => dates.push(date));
      await create(
        cronRecord("late", { next_run_date: hour(3) }),
        cronRecord("early", { next_run_date: hour(1) }),
        cronRecord("off", { next_run_date: hour(1), enabled: false }),
        cronRecord("never", { next_run_date: null }),
      );
      const due = async (at: number): Promise<string[]> =>
        (await fixture.storage.crons.due(hour(at))).map(({ cron_id }) => cron_id);
      expect([await due(0), await due(1), await due(3)]).toEqual([[], ["early"], ["early", "late"]]);
      expect(await fixture.storage.crons.next()).toBe(hour(1));
      await fixture.storage.crons.update("early", { next_run_date: hour(5) });
      expect(await fixture.storage.crons.next()).toBe(hour(3));
      expect(dates).toEqual([hour(3), hour(1), hour(1), hour(5)]);
      for (const id of ["early", "late"]) await fixture.storage.crons.delete(id);
      expect(await fixture.storage.crons.next()).toBeUndefined();
    });

    it("get their next date with the admission of their run, once, and stay due where it is refused", async () => {
      const { sessions, runs, crons } = fixture.storage;
      await sessions.create(sessionRecord("s1"));
      await create(cronRecord("c1", { next_run_date: hour(1) }));
      const cron = { cron_id: "c1", due: hour(1), next: hour(2) };
      await runs.admit(runRecord("before", "s1"));
      const refused = runs.admit(runRecord("refused", "s1", { multitask_strategy: "reject" }), { cron });
      await expect(refused).rejects.toMatchObject({ code: "conflict" });
      expect(await crons.get("c1")).toMatchObject({ next_run_date: hour(1) });
      await runs.admit(runRecord("first", "s1"), { cron });
      await expect(runs.admit(runRecord("second", "s1"), { cron })).rejects.toMatchObject({ code: "invalid_state" });
      expect(await crons.get("c1")).toMatchObject({ next_run_date: hour(2) });
      await crons.update("c1", { enabled: false });
      const off = { cron_id: "c1", due: hour(2), next: null };
      await expect(runs.admit(runRecord("third", "s1"), { cron: off })).rejects.toMatchObject({
        code: "invalid_state",
      });
      const admitted = (await fixture.reopen()).runs.list("s1", { limit: 10, offset: 0 });
      expect((await admitted).map(({ run_id }) => run_id).toSorted()).toEqual(["before", "first"]);
    });

    it("can be skipped to their next date, once", async () => {
      await create(cronRecord("c1", { next_run_date: hour(1) }));
      const turn = { cron_id: "c1", due: hour(1), next: null };
      const { crons } = fixture.storage;
      expect([await crons.skip(turn), await crons.skip(turn)]).toEqual([true, false]);
      expect(await crons.get("c1")).toMatchObject({ next_run_date: null });
    });
  });
}
