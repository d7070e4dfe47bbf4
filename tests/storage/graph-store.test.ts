import { AsyncBatchedStore, InMemoryStore, type BaseStore } from "@langchain/langgraph-checkpoint";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { GraphStore, bypassStoreQueues } from "@millrace/engine/storage/items/store-items";
import { createSqliteStorage, type SqliteStorage } from "@millrace/engine/storage/sqlite/storage";

let storage: SqliteStorage;
beforeEach(() => {
  storage = createSqliteStorage(":memory:");
});
afterEach(() => storage.close());
const storeOf = (owner: string): GraphStore => new GraphStore(storage.items, async () => owner);

/** The answers of a store to the same requests, without dates. */
async function conversation(store: BaseStore): Promise<unknown> {
  await store.put(["users", "1"], "name", { first: "Ada", age: 36 });
  await store.put(["users", "2"], "name", { first: "Bob", age: 40 });
  await store.put(["users", "2", "deep"], "name", { first: "Cid", age: 1 });
  await store.put(["users", "1"], "name", { first: "Eve", age: 36 });
  await store.delete(["users", "1"], "other");
  const batch = await store.batch([
    { namespace: ["users", "1"], key: "name" },
    { namespace: ["users", "3"], key: "name", value: { first: "new" } },
    { namespace: ["users", "3"], key: "name" },
    { namespacePrefix: ["users", "2"], filter: { age: { $gt: 36 } } },
    { namespace: ["users", "2"], key: "name", value: null },
    { matchConditions: [{ matchType: "prefix", path: ["users"] }], maxDepth: 2, limit: 10, offset: 0 },
  ]);
  const shown = {
    batch: batch.map((one) => (one === undefined ? null : one)),
    one: await store.get(["users", "1"], "name"),
    gone: await store.get(["users", "2"], "name"),
    all: (await store.search(["users"], { filter: { first: { $in: ["new", "Cid", "Bob"] } } })).toSorted(
      (left, right) => String(left.value["first"]).localeCompare(String(right.value["first"])),
    ),
    everything: (await store.search([])).length,
    namespaces: await store.listNamespaces({ suffix: ["deep"] }),
    cut: await store.listNamespaces({ prefix: ["users"], maxDepth: 1 }),
  };
  return JSON.parse(
    JSON.stringify(shown, (key, value: unknown) => (/^(created|updated)At$/u.test(key) ? "a date" : value)),
  );
}

describe("the store of a graph", () => {
  it("answers like LangGraph's InMemoryStore", async () => {
    expect(await conversation(storeOf("ada"))).toEqual(await conversation(new InMemoryStore()));
  });

  it("returns dates as Date objects, and a score where there is a query", async () => {
    const store = storeOf("ada");
    await store.put(["n"], "k", { text: "a green apple" });
    const item = await store.get(["n"], "k");
    expect([item?.createdAt, item?.updatedAt]).toEqual([expect.any(Date), expect.any(Date)]);
    expect(await store.search(["n"], { query: "apple" })).toMatchObject([{ key: "k", score: 1 }]);
  });

  it("belongs to one owner, who is looked up once and only at the first use", async () => {
    let asked = 0;
    const store = new GraphStore(storage.items, async () => `owner ${(asked += 1)}`);
    expect(asked).toBe(0);
    await Promise.all([store.put(["n"], "k", {}), store.put(["n"], "l", {})]);
    expect(await store.search(["n"])).toHaveLength(2);
    expect(asked).toBe(1);
    expect(await storeOf("owner 2").search([])).toEqual([]);
  });

  it.each([[[]], [["a.b"]], [[""]], [["langgraph", "x"]]])("writes nothing under %j", async (namespace) => {
    await expect(storeOf("ada").put(namespace, "k", {})).rejects.toThrow(/amespace/u);
    expect(await storeOf("ada").search([])).toEqual([]);
  });

  it("writes nothing of a batch with an invalid namespace, and refuses an unknown operator", async () => {
    const store = storeOf("ada");
    const put = (namespace: string[]) => ({ namespace, key: "k", value: {} });
    await expect(store.batch([put(["right"]), put(["wrong.label"])])).rejects.toThrow("periods");
    expect(await store.search([])).toEqual([]);
    await expect(store.search([], { filter: { a: { $near: 1 } } })).rejects.toThrow('no operator "$near"');
  });
});

describe("LangGraph's queue before a store", () => {
  it("passes on requests at once and completely, and has no timer", async () => {
    expect(bypassStoreQueues()).toBe(true);
    const store = storeOf("ada");
    const queue = new AsyncBatchedStore(store);
    const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length;
    const before = timers();
    queue.start();
    expect([queue.isRunning, timers()]).toEqual([true, before]);
    // LangGraph passes the last argument, which its type leaves out.
    const asStore: BaseStore = queue;
    await asStore.put(["n"], "k", { text: "secret" }, false);
    expect(await queue.get(["n"], "k")).toMatchObject({ value: { text: "secret" } });
    expect(await queue.search(["n"], { query: "secret" })).toMatchObject([{ key: "k" }]);
    expect((await queue.search(["n"], { query: "secret" }))[0]).not.toHaveProperty("score");
    expect(await queue.listNamespaces()).toEqual([["n"]]);
    await queue.delete(["n"], "k");
    await expect(queue.put([], "k", {})).rejects.toThrow("empty");
    await queue.stop();
    expect([queue.isRunning, await store.search([])]).toEqual([false, []]);
  });
});
