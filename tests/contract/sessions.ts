import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { Annotation, MessagesAnnotation, StateGraph } from "@langchain/langgraph";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { runRecord, sessionRecord, type StorageFixture, append } from "./records.ts";

function ids(found: { sessions: { session_id: string }[] }): string[] {
  return found.sessions.map((session) => session.session_id);
}

/** A graph of one node that answers every message, for checkpoints. */
function replyGraph(fixture: StorageFixture) {
  const State = Annotation.Root({ ...MessagesAnnotation.spec });
  return new StateGraph(State)
    .addNode("reply", () => ({ messages: [new AIMessage({ id: "answer", content: "hello" })] }))
    .addEdge("__start__", "reply")
    .compile({ checkpointer: fixture.storage.checkpointer });
}

/** Sessions are stored, merged and searched. */
export function describeSessions(fixture: StorageFixture): void {
  describe("sessions", () => {
    it("returns a created session, and undefined for one that does not exist", async () => {
      const session = sessionRecord("s1", {
        metadata: { graph_id: "agent", tags: ["a", { b: null }] },
        config: { configurable: { model: "offline" } },
        status: "interrupted",
        interrupts: { task: [{ id: "i1", value: { question: "really?" } }] },
      });
      expect(await fixture.storage.sessions.create(session)).toEqual(session);
      expect(await fixture.storage.sessions.get("s1")).toEqual(session);
      expect(await fixture.storage.sessions.get("s2")).toBeUndefined();
    });

    it("refuses a second session with the same id", async () => {
      await fixture.storage.sessions.create(sessionRecord("s1", { metadata: { first: true } }));
      await expect(fixture.storage.sessions.create(sessionRecord("s1"))).rejects.toMatchObject({ code: "conflict" });
      expect((await fixture.storage.sessions.get("s1"))?.metadata).toEqual({ first: true });
    });

    it("merges metadata and config, replaces the other fields and sets the date of change", async () => {
      const { sessions } = fixture.storage;
      const interrupts = { task: [{ id: "i1", value: 1 }] };
      await sessions.create(
        sessionRecord("s1", { metadata: { a: { x: 1 }, b: 2 }, config: { tags: ["t"] }, interrupts }),
      );
      const updated = await sessions.update("s1", {
        metadata: { a: { y: 1 } },
        config: { recursion_limit: 5 },
        status: "error",
      });
      expect(updated).toMatchObject({
        metadata: { a: { y: 1 }, b: 2 },
        config: { tags: ["t"], recursion_limit: 5 },
        status: "error",
        interrupts,
      });
      expect(updated?.updated_at).not.toBe(updated?.created_at);
      expect(await sessions.get("s1")).toEqual(updated);
      const noted = await sessions.update("s1", { metadata: { note: "read" }, keepsTime: true });
      expect(noted).toEqual({ ...updated, metadata: { a: { y: 1 }, b: 2, note: "read" } });
      expect((await sessions.update("s1", { interrupts: {} }))?.interrupts).toEqual({});
      expect(await sessions.update("s2", { status: "idle" })).toBeUndefined();
    });

    it("deletes a session with its runs, events, ledger rows and checkpoints, and nothing of others", async () => {
      const { sessions, runs, events, ledger, checkpointer } = fixture.storage;
      const graph = replyGraph(fixture);
      for (const id of ["gone", "kept"]) {
        await sessions.create(sessionRecord(id));
        await runs.admit(runRecord(`run of ${id}`, id));
        await append(fixture.storage, id, `run of ${id}`, [
          { id: 0, event: "error", data: { error: "E", message: "m" } },
        ]);
        await fixture.storage.manualCalls.ledger.start({
          session_id: id,
          tool_call_id: "c",
          run_id: "r",
          tool: "t",
          effect: "unsafe",
        });
        await graph.invoke({ messages: [new HumanMessage("hi")] }, { configurable: { thread_id: id } });
      }
      expect(await sessions.delete("gone")).toBe(true);
      expect(await sessions.delete("gone")).toBe(false);
      const left = async (id: string) => [
        (await sessions.get(id)) !== undefined,
        (await runs.get(`run of ${id}`)) !== undefined,
        (await runs.unfinished()).some((run) => run.session_id === id),
        (await events.read(`run of ${id}`, -1, 10)).length > 0,
        (await ledger.list(id)).length > 0,
        (await checkpointer.getTuple({ configurable: { thread_id: id } })) !== undefined,
      ];
      expect(await left("gone")).toEqual([false, false, false, false, false, false]);
      expect(await left("kept")).toEqual([true, true, true, true, true, true]);
    });

    it("removes checkpoints without a session, and keeps those of existing sessions", async () => {
      const { sessions, checkpointer } = fixture.storage;
      const graph = replyGraph(fixture);
      await sessions.create(sessionRecord("made"));
      for (const id of ["made", "half-made"]) {
        await graph.invoke({ messages: [new HumanMessage("hi")] }, { configurable: { thread_id: id } });
      }
      expect(await sessions.deleteUnfinished()).toBe(1);
      expect(await sessions.deleteUnfinished()).toBe(0);
      const isThere = async (id: string) =>
        (await checkpointer.getTuple({ configurable: { thread_id: id } })) !== undefined;
      expect([await isThere("made"), await isThere("half-made")]).toEqual([true, false]);
      const again = await graph.invoke(
        { messages: [new HumanMessage("hi")] },
        { configurable: { thread_id: "half-made" } },
      );
      expect(again.messages).toHaveLength(2);
    });

    it("removes a session without runs as unused, and keeps one with a run", async () => {
      const { sessions, runs } = fixture.storage;
      for (const id of ["unused", "used"]) await sessions.create(sessionRecord(id));
      await runs.admit(runRecord("r1", "used"));
      const answers = await Promise.all(["unused", "used", "unknown"].map((id) => sessions.deleteUnused(id)));
      expect(answers).toEqual([true, false, false]);
      expect([await sessions.get("unused"), await runs.get("r1")]).toMatchObject([undefined, { session_id: "used" }]);
    });

    it("can be created again after it was deleted, empty", async () => {
      const { sessions, runs } = fixture.storage;
      await sessions.create(sessionRecord("s1"));
      await runs.admit(runRecord("r1", "s1"));
      await sessions.delete("s1");
      await sessions.create(sessionRecord("s1"));
      expect(await runs.list("s1", { limit: 10, offset: 0 })).toEqual([]);
    });
  });

  describeSearch(fixture);
}

function describeSearch(fixture: StorageFixture): void {
  describe("search of sessions", () => {
    const page = { limit: 10, offset: 0 };

    async function create(id: string, created: number, fields: Parameters<typeof sessionRecord>[1] = {}) {
      const created_at = new Date(Date.UTC(2026, 0, created)).toISOString();
      await fixture.storage.sessions.create(sessionRecord(id, { created_at, updated_at: created_at, ...fields }));
    }

    it("lists the newest first, in pages, with the total of all matches", async () => {
      for (let day = 1; day <= 5; day += 1) await create(`s${day}`, day);
      const first = await fixture.storage.sessions.search({ limit: 2, offset: 0 });
      expect([ids(first), first.total]).toEqual([["s5", "s4"], 5]);
      const last = await fixture.storage.sessions.search({ limit: 2, offset: 4 });
      expect([ids(last), last.total]).toEqual([["s1"], 5]);
      expect(await fixture.storage.sessions.search({ limit: 2, offset: 9 })).toEqual({ sessions: [], total: 5 });
    });

    it.each([
      ["a top level value", { user: "ada" }, ["s1", "s2"]],
      ["a nested object", { profile: { plan: { name: "pro" } } }, ["s1"]],
      ["elements of an array, in any order", { tags: ["y", "x"] }, ["s2"]],
      ["objects in an array by some of their keys", { marks: [{ kind: "star" }] }, ["s1"]],
      ["several keys, all of them", { user: "ada", done: false }, ["s2"]],
      ["a text under another key", { owner: "ada" }, []],
      ["null", { profile: null }, ["s3"]],
      ["an empty filter", {}, ["s3", "s2", "s1"]],
      ["a number for a stored text", { user: 1 }, []],
      ["an object for a stored text", { user: {} }, []],
    ])("finds metadata by containment: %s", async (_name, metadata, expected) => {
      await create("s1", 1, {
        metadata: { user: "ada", profile: { plan: { name: "pro", seats: 3 } }, marks: [{ kind: "star", n: 1 }] },
      });
      await create("s2", 2, { metadata: { user: "ada", tags: ["x", "y", "z"], done: false } });
      await create("s3", 3, { metadata: { user: "bob", profile: null, tags: ["x"], 'odd "key"': { "a.b": 1 } } });
      const found = await fixture.storage.sessions.search({ ...page, metadata });
      expect(new Set(ids(found))).toEqual(new Set(expected));
      expect(found.total).toBe(expected.length);
    });

    it.each([
      ["with the same text", "parent", true],
      ["with an object of the same JSON", { a: 1 }, false],
      ["with a number of the same text", 5, false],
      ["with null", null, false],
    ])("finds metadata with a separate index like the rest: %s", async (_name, background_of, isFound) => {
      await create("s1", 1, { metadata: { background_of } });
      const words = typeof background_of === "string" ? background_of : JSON.stringify(background_of);
      const found = await fixture.storage.sessions.search({ ...page, metadata: { background_of: words } });
      expect(ids(found)).toEqual(isFound ? ["s1"] : []);
    });

    it("finds every session by any part of its metadata, and none by another value", async () => {
      let count = 0;
      const entries = fc.dictionary(fc.string({ unit: "binary" }), fc.jsonValue({ maxDepth: 2 }), {
        minKeys: 1,
        maxKeys: 6,
      });
      await fc.assert(
        fc.asyncProperty(entries, fc.nat(), async (metadata, pick) => {
          const id = `s${(count += 1)}`;
          await create(id, 1, { metadata });
          const keys = Object.keys(metadata);
          const key = keys[pick % keys.length] ?? "";
          const search = (filter: object) =>
            fixture.storage.sessions.search({ ...page, ids: [id], metadata: { ...filter } });
          expect((await search(metadata)).total).toBe(1);
          expect((await search({ [key]: metadata[key] })).total).toBe(1);
          expect((await search({ [key]: `${JSON.stringify(metadata[key])} changed` })).total).toBe(0);
        }),
        { numRuns: 200 },
      );
    });

    it("compares long lists completely, and refuses those that are too long to compare", async () => {
      const numbers = Array.from({ length: 300 }, (_, n) => n);
      await create("s1", 1, { metadata: { numbers, marks: numbers.map((n) => ({ n, of: [[n]] })) } });
      const find = async (metadata: object) =>
        ids(await fixture.storage.sessions.search({ ...page, metadata: { ...metadata } }));
      expect(await find({ numbers: numbers.toReversed() })).toEqual(["s1"]);
      expect(await find({ numbers: [...numbers, 300] })).toEqual([]);
      const marks = numbers.slice(0, 30).map((n) => ({ of: [[n]] }));
      expect(await find({ marks })).toEqual(["s1"]);
      expect(await find({ marks: [...marks, { of: [[300]] }] })).toEqual([]);
      expect(await find({ marks: [{ of: [[300]] }] })).toEqual([]);
      const waiting = await fixture.storage.overview.working({ metadata: { marks: [{ of: [[300]] }] } });
      expect(waiting).toBe(0);
      const list = Array.from({ length: 2000 }, (_, order) => ({ order }));
      await create("s2", 2, { metadata: { list } });
      await expect(find({ list: list.toReversed() })).rejects.toMatchObject({ code: "too_large" });
    });

    it("takes keys and values as data, whatever characters they contain", async () => {
      const metadata = { "a.b'; DROP TABLE sessions --": { '"$[0]': "%_'" } };
      await create("s1", 1, { metadata });
      expect(ids(await fixture.storage.sessions.search({ ...page, metadata }))).toEqual(["s1"]);
    });

    it("filters by owner, on request also sessions without an owner, beside all other filters", async () => {
      await create("s1", 1, { owner: "ada", metadata: { a: 1 } });
      await create("s2", 2, { owner: "bob" });
      await create("s3", 3, { owner: null, metadata: { a: 1 } });
      const search = async (owner: string, orphans: boolean, query: object = {}) => {
        const found = await fixture.storage.sessions.search({ ...page, ...query, owner: { name: owner, orphans } });
        expect(found.total).toBe(found.sessions.length);
        return ids(found);
      };
      expect(await search("ada", false)).toEqual(["s1"]);
      expect(await search("ada", true)).toEqual(["s3", "s1"]);
      expect(await search("ada", true, { metadata: { a: 1 }, ids: ["s1", "s2"], status: "idle" })).toEqual(["s1"]);
      expect(await search("", false)).toEqual([]);
      expect((await fixture.storage.sessions.search(page)).total).toBe(3);
      expect((await fixture.storage.sessions.get("s2"))?.owner).toBe("bob");
    });

    it("filters by ids and status and sorts by any column in both directions", async () => {
      await create("b", 1, { status: "busy", updated_at: "2026-03-01T00:00:00.000Z" });
      await create("a", 2, { status: "idle", updated_at: "2026-02-01T00:00:00.000Z" });
      await create("c", 3, { status: "error" });
      const search = async (query: object) => ids(await fixture.storage.sessions.search({ ...page, ...query }));
      expect(await search({ ids: ["a", "c", "unknown"] })).toEqual(["c", "a"]);
      expect(await search({ ids: [] })).toEqual([]);
      expect(await search({ status: "busy" })).toEqual(["b"]);
      expect(await search({ ids: ["a", "b"], status: "idle" })).toEqual(["a"]);
      expect(await search({ sort_by: "thread_id", sort_order: "asc" })).toEqual(["a", "b", "c"]);
      expect(await search({ sort_by: "thread_id" })).toEqual(["c", "b", "a"]);
      expect(await search({ sort_by: "created_at", sort_order: "asc" })).toEqual(["b", "a", "c"]);
      expect(await search({ sort_by: "updated_at" })).toEqual(["b", "a", "c"]);
      expect(await search({ sort_by: "status", sort_order: "asc" })).toEqual(["b", "c", "a"]);
    });
  });
}
