import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestServer, type TestServer } from "../../support/test-server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.remove());

/** A namespace that no other test uses. */
const fresh = (): string => crypto.randomUUID();
const ask = async (method: string, path: string, body?: unknown, headers = {}): Promise<[number, string]> => {
  const response = await server.send(method, path, body, headers);
  return [response.status, await response.text()];
};

describe("an item", () => {
  it("is written, read and deleted, and keeps its JSON", async () => {
    const namespace = ["users", fresh()];
    const { store } = server.client;
    expect(await ask("PUT", "/store/items", { namespace, key: "k", value: { a: [1, { b: null }] } })).toEqual([
      204,
      "",
    ]);
    const [status, text] = await ask("GET", `/store/items?namespace=${namespace.join(".")}&key=k`);
    const date = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/u);
    expect([status, JSON.parse(text)]).toEqual([
      200,
      { namespace, key: "k", value: { a: [1, { b: null }] }, created_at: date, updated_at: date },
    ]);
    await store.deleteItem(namespace, "k");
    expect(await ask("GET", `/store/items?namespace=${namespace.join(".")}&key=k`)).toEqual([200, "null"]);
    await store.deleteItem(namespace, "k");
    expect(await store.getItem(namespace, "k")).toBeNull();
  });

  it("survives a restart", async () => {
    const namespace = [fresh()];
    await server.client.store.putItem(namespace, "k", { stays: true });
    await server.close();
    server = await server.restart();
    expect(await server.client.store.getItem(namespace, "k")).toMatchObject({ value: { stays: true } });
  });

  it("is missing once it has expired, and reading it restarts its TTL", async () => {
    const namespace = [fresh()];
    const { store } = server.client;
    // A ten-thousandth of a minute is six milliseconds.
    await store.putItem(namespace, "brief", { n: 1 }, { ttl: 0.0001 });
    await store.putItem(namespace, "long", { n: 2 }, { ttl: 60 });
    const gone = async (): Promise<boolean> =>
      (await store.getItem(namespace, "brief", { refreshTtl: false })) === null;
    await expect.poll(gone).toBe(true);
    const { items } = await store.searchItems(namespace, { refreshTtl: true });
    expect(items.map(({ key }) => key)).toEqual(["long"]);
  });

  it("keeps its expiry without refresh, also in a search", async () => {
    const namespace = [fresh()];
    const item = { namespace, key: "k" };
    const read = async (): Promise<unknown> => {
      const [, text] = await ask("GET", `/store/items?namespace=${namespace.join(".")}&key=k`);
      return JSON.parse(text);
    };
    const found = (query: string) => server.client.store.searchItems(namespace, { query });
    await ask("PUT", "/store/items", { ...item, value: { said: "heron" }, ttl: 60, index: false });
    await ask("PUT", "/store/items", { ...item, value: { said: "heron again" }, keep_settings: true });
    expect(await read()).toMatchObject({ value: { said: "heron again" }, ttl: 60 });
    expect((await found("heron")).items[0]).not.toHaveProperty("score");
    await ask("PUT", "/store/items", { ...item, value: { said: "heron" }, keep_settings: true, ttl: null });
    expect(await read()).not.toHaveProperty("ttl");
    await ask("PUT", "/store/items", { ...item, value: { said: "heron" } });
    expect((await found("heron")).items).toMatchObject([{ score: 1 }]);
  });

  it("with the longest possible TTL exists", async () => {
    const namespace = [fresh()];
    await server.client.store.putItem(namespace, "k", { n: 1 }, { ttl: 4_000_000_000 });
    expect(await server.client.store.getItem(namespace, "k")).toMatchObject({ value: { n: 1 } });
  });

  it.each([
    ["PUT", { namespace: [], key: "k", value: {} }, 400, "Namespace is required"],
    ["PUT", { namespace: [""], key: "k", value: {} }, 422, "Namespace labels cannot be empty or contain periods"],
    ["PUT", { namespace: ["a.b"], key: "k", value: {} }, 422, "Received: a.b"],
    ["DELETE", { namespace: ["a.b"], key: "k" }, 422, "Received: a.b"],
    ["PUT", { namespace: ["a"], key: "k" }, 400, "ZodError"],
    ["PUT", { namespace: ["a"], value: {} }, 400, "ZodError"],
    ["PUT", { key: "k", value: {} }, 400, "ZodError"],
    ["PUT", { namespace: ["a"], key: "k", value: [1] }, 400, "ZodError"],
    ["PUT", { namespace: ["a"], key: "k", value: {}, ttl: 0 }, 400, "ZodError"],
    // It would expire in the year 10203, which sorts before today.
    ["PUT", { namespace: ["a"], key: "k", value: {}, ttl: 4_300_000_000 }, 400, "ZodError"],
    ["PUT", { namespace: ["a"], key: "k", value: {}, index: true }, 400, "ZodError"],
    ["PUT", { namespace: ["a\0"], key: "k", value: {} }, 400, "ZodError"],
    ["DELETE", { namespace: ["a"] }, 400, "ZodError"],
  ])("%s of %j is %d", async (method, body, status, text) => {
    expect(await ask(method, "/store/items", body)).toEqual([status, expect.stringContaining(text)]);
  });

  it("cannot be read without a key; without a namespace, or with an invalid one, it does not exist", async () => {
    expect((await ask("GET", "/store/items?namespace=a"))[0]).toBe(400);
    expect(await ask("GET", "/store/items?key=k")).toEqual([200, "null"]);
    expect(await ask("GET", "/store/items?namespace=a..b&key=k")).toEqual([200, "null"]);
    expect(await ask("DELETE", "/store/items", { key: "k" })).toEqual([204, ""]);
  });
});

describe("a search", () => {
  it("finds by namespace, filter and words, in pages", async () => {
    const root = fresh();
    const { store } = server.client;
    for (const [key, size, text] of [
      ["one", 1, "a red apple"],
      ["two", 2, "a green apple"],
      ["three", 3, "a green stone"],
    ] as const) {
      await store.putItem([root, "things"], key, { size, text });
    }
    await store.putItem([root, "other"], "four", { size: 4 }, { index: false });
    const keysOf = async (prefix: string[], options?: Parameters<typeof store.searchItems>[1]): Promise<string[]> =>
      (await store.searchItems(prefix, options)).items.map(({ key }) => key);
    expect((await keysOf([root])).toSorted()).toEqual(["four", "one", "three", "two"]);
    expect((await keysOf([root, "things"])).toSorted()).toEqual(["one", "three", "two"]);
    expect((await keysOf([root], { filter: { size: { $gte: 2, $ne: 4 } } })).toSorted()).toEqual(["three", "two"]);
    expect(await keysOf([root], { filter: { size: 4 } })).toEqual(["four"]);
    const pages = [await keysOf([root], { limit: 3 }), await keysOf([root], { limit: 3, offset: 3 })].flat();
    expect(pages.toSorted()).toEqual(["four", "one", "three", "two"]);
    const { items } = await store.searchItems([root], { query: "green apple", limit: 1 });
    expect(items).toMatchObject([{ key: "two", score: 1 }]);
    expect((await store.searchItems([], { limit: 1000 })).items.length).toBeGreaterThanOrEqual(4);
  });

  it.each([
    [{ namespace_prefix: ["a.b"] }, 422, "periods"],
    [{ namespace_prefix: [], filter: { a: { $near: 1 } } }, 400, 'no operator \\"$near\\"'],
    [{ namespace_prefix: [], limit: 0 }, 400, "ZodError"],
    [{ namespace_prefix: [], offset: -1 }, 400, "ZodError"],
    [{ namespace_prefix: "a" }, 400, "ZodError"],
  ])("of %j is %d", async (body, status, text) => {
    expect(await ask("POST", "/store/items/search", body, { accept: "application/json" })).toEqual([
      status,
      expect.stringContaining(text),
    ]);
  });
});

describe("the list of namespaces", () => {
  it("is cut, filtered and paged", async () => {
    const root = fresh();
    const { store } = server.client;
    for (const rest of [
      ["a", "x"],
      ["b", "x"],
      ["b", "y"],
    ])
      await store.putItem([root, ...rest], "k", {});
    expect(await store.listNamespaces({ prefix: [root] })).toEqual({
      namespaces: [
        [root, "a", "x"],
        [root, "b", "x"],
        [root, "b", "y"],
      ],
    });
    expect(await store.listNamespaces({ prefix: [root], suffix: ["x"], limit: 1, offset: 1 })).toEqual({
      namespaces: [[root, "b", "x"]],
    });
    expect(await store.listNamespaces({ prefix: [root], maxDepth: 2 })).toEqual({
      namespaces: [
        [root, "a"],
        [root, "b"],
      ],
    });
  });

  it.each([
    [{ prefix: ["a", ""] }, 422],
    [{ suffix: ["a.b"] }, 422],
    [{ max_depth: 0 }, 400],
    [{ limit: 1001 }, 400],
  ])("of %j is %d", async (body, status) => {
    expect((await ask("POST", "/store/namespaces", body))[0]).toBe(status);
  });
});

describe("a graph", () => {
  it("writes and searches the same store, also in a subgraph and without a thread", async () => {
    const [note, other] = [fresh(), fresh()];
    const { store, runs, threads } = server.client;
    const { thread_id } = await threads.create();
    await store.putItem(["notes", "by hand"], other, {});
    const values = await runs.wait(thread_id, "keeper", { input: { note } });
    expect(values).toMatchObject({ note, found: expect.arrayContaining([note, other]) });
    expect(await store.getItem(["notes", "kept"], note)).toMatchObject({ value: { text: note } });
    const alone = await runs.wait(null, "keeper", { input: { note: fresh() } });
    expect(alone).toMatchObject({ found: expect.arrayContaining([note]) });
  });
});

describe("with keys", () => {
  it("each owner has a separate store, for clients and for graphs; items without owner are the admin's", async () => {
    const namespace = [fresh()];
    const before = await startTestServer();
    await before.client.store.putItem(namespace, "old", {});
    await before.close();
    const keyed = await before.restart({
      apiKeys: ["ada", "bob", "admin"].map((owner) => ({ owner, key: `key-of-${owner}` })),
    });
    const asOwner = async (owner: string, method: string, path: string, body: object): Promise<unknown> => {
      const response = await keyed.send(method, path, body, { "x-api-key": `key-of-${owner}` });
      return response.status === 204 ? undefined : response.json();
    };
    const note = fresh();
    await asOwner("ada", "POST", "/runs/wait", { assistant_id: "keeper", input: { note } });
    const found = (owner: string) => asOwner(owner, "POST", "/store/items/search", { namespace_prefix: [] });
    expect(await found("ada")).toMatchObject({ items: [{ key: note }] });
    expect(await found("bob")).toEqual({ items: [] });
    expect(await found("admin")).toMatchObject({ items: [{ key: "old" }] });
    expect(await asOwner("bob", "POST", "/store/namespaces", {})).toEqual({ namespaces: [] });
    await asOwner("bob", "DELETE", "/store/items", { namespace: ["notes", "kept"], key: note });
    expect(await found("ada")).toMatchObject({ items: [{ key: note }] });
    const refused = await keyed.send("POST", "/store/items/search", {}, { "x-api-key": "unknown" });
    expect(refused.status).toBe(401);
    await keyed.remove();
  });
});
