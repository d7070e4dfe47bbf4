import { describe, expect, it } from "vitest";
import { requestOf } from "./model-requests.ts";
import { operation } from "./operations.ts";
import type { RunOutcome } from "@millrace/engine/storage/attempt-store";
import { runRecord, sessionRecord, type StorageFixture, writer, finish, append } from "../records.ts";

const success: RunOutcome = { status: "success", session_status: "idle", interrupts: {} };
const someday = "2999-01-01T00:00:00.000Z";
const custom = (id: number) => ({ id, event: "custom" as const, namespace: [], data: { id } });

/** Safety of runs: idempotency keys, a bounded queue, counted crashes, fenced writes and logs that expire. */
export function describeRunSafety(fixture: StorageFixture): void {
  async function newSession(...ids: string[]): Promise<void> {
    for (const id of ids) await fixture.storage.sessions.create(sessionRecord(id, { metadata: { own: "kept" } }));
  }

  describe("a submission", () => {
    it("makes one run, repeated at once, later, after the run's end or after a restart", async () => {
      await newSession("s1");
      const submit = async (id: string) => {
        const draft = runRecord(id, "s1", { multitask_strategy: "reject" });
        return (await fixture.storage.runs.admit(draft, { submission: { key: "k", hash: "h" } })).run;
      };
      const first = await Promise.all(Array.from({ length: 100 }, (_, index) => submit(`r${index}`)));
      expect(new Set(first.map((run) => run.run_id))).toEqual(new Set(["r0"]));
      await fixture.storage.runs.claim("s1");
      expect(await submit("later")).toMatchObject({ run_id: "r0", status: "running" });
      await finish(fixture.storage, "r0", success);
      await fixture.reopen();
      expect(await submit("after")).toMatchObject({ run_id: "r0", status: "success" });
      expect(await fixture.storage.runs.list("s1", { limit: 10, offset: 0 })).toHaveLength(1);
    });

    it("is refused when its key was used with another body, and its key belongs to its session", async () => {
      await newSession("s1", "s2");
      const { runs } = fixture.storage;
      const admission = (hash: string) => ({ submission: { key: "k", hash } });
      await runs.admit(runRecord("r1", "s1"), admission("h"));
      await expect(runs.admit(runRecord("r2", "s1"), admission("other"))).rejects.toMatchObject({
        code: "conflict",
        message: expect.stringContaining("Key"),
      });
      expect(await runs.admit(runRecord("r3", "s2"), admission("other"))).toMatchObject({ run: { run_id: "r3" } });
    });
  });

  describe("the run of a submission", () => {
    it("is found among any number of runs, and only for what was sent in its session", async () => {
      await newSession("s1", "s2");
      const { runs } = fixture.storage;
      const submission = { key: "k", hash: "h" };
      expect(await runs.submitted("s1", submission)).toBeUndefined();
      const { run } = await runs.admit(runRecord("r1", "s1"), { submission });
      for (let number = 0; number < 60; number += 1) await runs.admit(runRecord(`later${number}`, "s1"));
      expect(await runs.submitted("s1", submission)).toEqual(run);
      await expect(runs.submitted("s1", { key: "k", hash: "other" })).rejects.toMatchObject({ code: "conflict" });
      for (const [session, key] of [
        ["s1", "K"],
        ["s2", "k"],
        ["unknown", "k"],
      ] as const) {
        expect(await runs.submitted(session, { key, hash: "h" })).toBeUndefined();
      }
    });
  });

  describe("the queue of all sessions", () => {
    it("refuses runs beyond its limit, and takes runs again when some have begun", async () => {
      await newSession("s1", "s2");
      const { runs } = fixture.storage;
      const admit = (id: string, session: string) => runs.admit(runRecord(id, session), { queueLimit: 2 });
      await admit("r1", "s1");
      await admit("r2", "s2");
      await expect(admit("r3", "s1")).rejects.toMatchObject({ code: "rate_limit" });
      await runs.claim("s1");
      expect(await admit("r3", "s1")).toMatchObject({ run: { run_id: "r3" } });
      expect(await runs.get("r1")).toMatchObject({ status: "running" });
    });
  });

  describe("the queue of one owner", () => {
    it("refuses runs beyond the owner's share, and takes those of other owners", async () => {
      const create = (session_id: string, owner: string | null) =>
        fixture.storage.sessions.create(sessionRecord(session_id, { owner }));
      await Promise.all([create("a1", "ada"), create("a2", "ada"), create("b1", "bob"), create("n1", null)]);
      const { runs } = fixture.storage;
      const admit = (id: string, session: string) =>
        runs.admit(runRecord(id, session), { queueLimit: 10, ownerQueueLimit: 2 });
      await admit("r1", "a1");
      await admit("r2", "a2");
      await expect(admit("r3", "a1")).rejects.toMatchObject({ code: "rate_limit" });
      expect(await admit("r4", "b1")).toMatchObject({ run: { run_id: "r4" } });
      expect(await admit("r5", "n1")).toMatchObject({ run: { run_id: "r5" } });
      await runs.claim("a1");
      expect(await admit("r3", "a1")).toMatchObject({ run: { run_id: "r3" } });
    });
  });

  describe("an admission", () => {
    it("stores the graph in the session in the same write as the run", async () => {
      await newSession("s1");
      await fixture.storage.runs.admit(runRecord("r1", "s1", { graph_id: "g", assistant_id: "a" }));
      expect(await fixture.storage.sessions.get("s1")).toMatchObject({
        status: "busy",
        metadata: { own: "kept", graph_id: "g", assistant_id: "a" },
      });
    });
  });

  describe("the next attempt of a run", () => {
    it("counts a crash, but not after the server has parked the run", async () => {
      await newSession("s1");
      const { runs } = fixture.storage;
      await runs.admit(runRecord("r1", "s1"));
      await writer(fixture.storage, "r1").park();
      expect(await runs.claim("s1")).toMatchObject({ attempt: 1, crashes: 0 });
      await writer(fixture.storage, "r1", 1).park();
      expect(await runs.reclaim("r1")).toMatchObject({ attempt: 2, crashes: 0 });
      expect(await runs.reclaim("r1")).toMatchObject({ attempt: 3, crashes: 1 });
    });

    it("fences the former attempt off from the run's end and from its log", async () => {
      await newSession("s1");
      const { runs, events } = fixture.storage;
      await runs.admit(runRecord("r1", "s1"));
      await runs.claim("s1");
      await append(fixture.storage, "s1", "r1", [custom(0)], 1);
      await runs.reclaim("r1");
      const stale = { code: "conflict", message: expect.stringContaining("Attempt 1") };
      await expect(append(fixture.storage, "s1", "r1", [custom(1)], 1)).rejects.toMatchObject(stale);
      await expect(writer(fixture.storage, "r1", 1).reserve(5000)).rejects.toMatchObject(stale);
      expect(await finish(fixture.storage, "r1", success, 1)).toBeUndefined();
      expect(await runs.get("r1")).toMatchObject({ status: "running", event_mark: 0 });
      await append(fixture.storage, "s1", "r1", [custom(1)], 2);
      await writer(fixture.storage, "r1", 2).reserve(5000);
      expect(await finish(fixture.storage, "r1", success, 2)).toMatchObject({ status: "success", event_mark: 5000 });
      expect((await events.read("r1", -1, 10)).map(({ id }) => id)).toEqual([0, 1]);
    });
  });

  describe("an attempt that was superseded", () => {
    const call = { session_id: "s1", tool_call_id: "c1", run_id: "r1", tool: "t", effect: "unsafe" } as const;

    it("starts and finishes no call, records no file change and cannot release the run", async () => {
      await newSession("s1");
      const { runs, operations, ledger, requests } = fixture.storage;
      await runs.admit(runRecord("r1", "s1"));
      await runs.claim("s1");
      const former = writer(fixture.storage, "r1", 1);
      expect(await former.ledger.start(call)).toEqual({ kind: "start" });
      const begun = operation("o1");
      await former.operations.begin(begun, new Map());
      await runs.reclaim("r1");
      const stale = { code: "conflict", message: expect.stringContaining("Attempt 1") };
      await expect(former.ledger.start({ ...call, tool_call_id: "c2" })).rejects.toMatchObject(stale);
      await expect(former.ledger.start({ ...call, effect: "pure" })).rejects.toMatchObject(stale);
      await expect(former.ledger.finish("s1", "c1", "late")).rejects.toMatchObject(stale);
      await expect(former.operations.begin(operation("o2"), new Map())).rejects.toMatchObject(stale);
      const settled = former.operations.settle("o1", { ...begun, status: "success" }, new Map());
      await expect(settled).rejects.toMatchObject(stale);
      await expect(former.requests.record(requestOf())).rejects.toMatchObject(stale);
      await former.park();
      expect(await ledger.list("s1")).toEqual([expect.objectContaining({ tool_call_id: "c1", state: "started" })]);
      expect((await operations.list("s1", { limit: 10, offset: 0 })).operations).toEqual([begun]);
      expect(await requests.calls("s1", "r1")).toEqual([]);
      const current = writer(fixture.storage, "r1", 2);
      expect(await current.ledger.start(call)).toMatchObject({ kind: "unknown" });
      await current.ledger.finish("s1", "c1", "done");
      expect(await runs.reclaim("r1")).toMatchObject({ attempt: 3, crashes: 2 });
    });

    it("gets not_found from every write when the run was deleted", async () => {
      await newSession("s1");
      await fixture.storage.runs.admit(runRecord("r1", "s1"));
      await fixture.storage.runs.claim("s1");
      const store = writer(fixture.storage, "r1", 1);
      await fixture.storage.runs.delete("r1");
      const gone = { code: "not_found" };
      await expect(store.ledger.start(call)).rejects.toMatchObject(gone);
      await expect(store.reserve(5000)).rejects.toMatchObject(gone);
      await expect(store.append([custom(0)])).rejects.toMatchObject(gone);
      expect(await store.finish(success)).toBeUndefined();
      expect(await fixture.storage.ledger.list("s1")).toEqual([]);
    });
  });

  describe("expired logs", () => {
    async function expireAll(before: string): Promise<number> {
      let parts = 0;
      while (await fixture.storage.events.expire(before)) parts += 1;
      return parts;
    }

    it("are deleted in batches, only those of ended runs, and the runs say up to which event", async () => {
      await newSession("s1", "s2");
      const { runs, events } = fixture.storage;
      for (const [id, session] of [
        ["over", "s1"],
        ["silent", "s1"],
        ["running", "s2"],
      ] as const) {
        await runs.admit(runRecord(id, session));
      }
      for (let id = 0; id < 250; id += 1) await append(fixture.storage, "s1", "over", [custom(id)]);
      await append(fixture.storage, "s2", "running", [custom(0)]);
      expect(await events.last("over")).toBe(249);
      expect(await events.last("silent")).toBe(-1);
      await runs.claim("s2");
      await finish(fixture.storage, "over", success);
      await finish(fixture.storage, "silent", success);
      expect(await expireAll("2020-01-01T00:00:00.000Z")).toBe(0);
      expect(await expireAll(someday)).toBeGreaterThan(1);
      expect(await events.read("over", -1, 10)).toEqual([]);
      expect(await runs.get("over")).toMatchObject({ status: "success", expired_events: 249 });
      expect(await runs.get("silent")).toMatchObject({ expired_events: -1 });
      expect(await events.last("running")).toBe(0);
      expect(await runs.get("running")).toMatchObject({ expired_events: -1 });
      expect(await expireAll(someday)).toBe(0);
    });
  });
}
