import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { systemAssistantId } from "@millrace/engine/graphs/assistants";
import { openGate } from "../support/test-graphs.ts";
import { startTestServer, type TestServer } from "../support/test-server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.remove());

const missing = "0192d1c4-7d5e-7000-8000-00000000dead";
const isoDate = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const statusAndText = async (response: Response): Promise<[number, string]> => [response.status, await response.text()];
const send = async (method: string, path: string, body?: unknown): Promise<[number, string]> =>
  statusAndText(await server.send(method, path, body));

describe("POST /assistants", () => {
  test("POST /assistants 200: the first version, with all fields", async () => {
    const made = await server.client.assistants.create({ graphId: "counter" });
    expect(made).toEqual({
      assistant_id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7/),
      graph_id: "counter",
      config: {},
      context: {},
      metadata: {},
      version: 1,
      name: "Untitled",
      description: null,
      created_at: isoDate,
      updated_at: isoDate,
    });
    const whole = {
      graphId: "mirror",
      assistantId: crypto.randomUUID(),
      config: { configurable: { tone: "dry" }, tags: ["a"] },
      context: { model: "offline" },
      metadata: { team: "red" },
      name: "Ada",
      description: "hers",
    };
    expect(await server.client.assistants.create(whole)).toMatchObject({
      graph_id: "mirror",
      assistant_id: whole.assistantId,
      config: whole.config,
      context: whole.context,
      metadata: whole.metadata,
      name: "Ada",
      description: "hers",
    });
  });

  test("POST /assistants 409: the id exists, also of a graph; do_nothing returns the existing assistant", async () => {
    const { assistant_id } = await server.client.assistants.create({ graphId: "counter", name: "first" });
    const again = { graph_id: "mirror", assistant_id };
    expect(await send("POST", "/assistants", again)).toEqual([409, "Assistant already exists"]);
    const own = { graph_id: "counter", assistant_id: systemAssistantId("counter") };
    expect(await send("POST", "/assistants", own)).toEqual([409, "Assistant already exists"]);
    const kept = await server.send("POST", "/assistants", { ...again, if_exists: "do_nothing" });
    expect(await kept.json()).toMatchObject({ graph_id: "counter", name: "first", version: 1 });
  });

  test("one that was first read as 404 is found once it is created", async () => {
    const assistantId = crypto.randomUUID();
    await expect(server.client.assistants.get(assistantId)).rejects.toThrow("404");
    await server.client.assistants.create({ graphId: "counter", assistantId });
    expect(await server.client.assistants.get(assistantId)).toMatchObject({ assistant_id: assistantId, version: 1 });
    await server.client.assistants.delete(assistantId);
    await expect(server.client.assistants.get(assistantId)).rejects.toThrow("404");
    await server.client.assistants.create({ graphId: "mirror", assistantId });
    expect(await server.client.assistants.get(assistantId)).toMatchObject({ graph_id: "mirror" });
  });

  test("POST /assistants 404: a graph that is not served", async () => {
    const [status, text] = await send("POST", "/assistants", { graph_id: "unknown" });
    expect([status, text]).toEqual([404, expect.stringContaining('Graph "unknown" not found')]);
  });
});

test.each([
  ["POST /assistants 400", "POST", "/assistants", {}],
  ["POST /assistants 400", "POST", "/assistants", { graph_id: "counter", assistant_id: "no uuid" }],
  ["POST /assistants/search 400", "POST", "/assistants/search", { limit: 0 }],
  ["POST /assistants/search 400", "POST", "/assistants/search", { limit: 1001 }],
  ["POST /assistants/search 400", "POST", "/assistants/search", { sort_by: "color" }],
  ["POST /assistants/count 400", "POST", "/assistants/count", { metadata: 1 }],
  ["PATCH /assistants/:assistant_id 400", "PATCH", "/assistants/counter", { config: "no object" }],
  ["DELETE /assistants/:assistant_id 400", "DELETE", "/assistants/counter?delete_threads=perhaps", undefined],
  ["GET /assistants/:assistant_id/graph 400", "GET", "/assistants/counter/graph?xray=deep", undefined],
  ["GET /assistants/:assistant_id/subgraphs 400", "GET", "/assistants/counter/subgraphs?recurse=deep", undefined],
  [
    "GET /assistants/:assistant_id/subgraphs/:namespace 400",
    "GET",
    "/assistants/nested/subgraphs/inside?recurse=deep",
    undefined,
  ],
  ["POST /assistants/:assistant_id/versions 400", "POST", "/assistants/counter/versions", { limit: "many" }],
  ["POST /assistants/:assistant_id/latest 400", "POST", "/assistants/counter/latest", {}],
])("%s: an invalid request, with the error messages of LangGraph's server", async (_title, method, path, body) => {
  const response = await server.send(method, path, body);
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ success: false, error: { name: "ZodError", issues: [{}] } });
});

test.each([
  ["GET /assistants/:assistant_id 404", "GET", "", "Assistant not found"],
  ["PATCH /assistants/:assistant_id 404", "PATCH", "", "Assistant not found"],
  ["DELETE /assistants/:assistant_id 404", "DELETE", "", "Assistant not found"],
  ["GET /assistants/:assistant_id/graph 404", "GET", "/graph", "Assistant not found"],
  ["GET /assistants/:assistant_id/schemas 404", "GET", "/schemas", "Assistant not found"],
  ["GET /assistants/:assistant_id/subgraphs 404", "GET", "/subgraphs", "Assistant not found"],
  ["GET /assistants/:assistant_id/subgraphs/:namespace 404", "GET", "/subgraphs/inside", "Assistant not found"],
  ["POST /assistants/:assistant_id/versions 404", "POST", "/versions", `Assistant "${missing}" not found.`],
  ["POST /assistants/:assistant_id/latest 404", "POST", "/latest", "Assistant not found"],
])("%s: an unknown assistant", async (_title, method, rest, text) => {
  const body = method === "GET" || method === "DELETE" ? undefined : { version: 1 };
  expect(await send(method, `/assistants/${missing}${rest}`, body)).toEqual([404, text]);
});

describe("POST /assistants/search and /count", () => {
  test("POST /assistants/search 200: filtered, sorted, paged and selected", async () => {
    const metadata = { search: crypto.randomUUID() };
    const made = [];
    for (const name of ["Beta", "alpha", "Gamma"]) {
      made.push(await server.client.assistants.create({ graphId: "counter", name, metadata }));
    }
    const ids = made.map(({ assistant_id }) => assistant_id);
    const newest = await server.client.assistants.search({ metadata });
    expect(newest.map(({ assistant_id }) => assistant_id)).toEqual(ids.toReversed());
    const page = await server.client.assistants.search({
      metadata,
      sortBy: "name",
      sortOrder: "asc",
      limit: 2,
      includePagination: true,
      select: ["name", "assistant_id"],
    });
    expect(page).toEqual({
      assistants: [
        { name: "Beta", assistant_id: ids[0] },
        { name: "Gamma", assistant_id: ids[2] },
      ],
      next: "2",
    });
    const last = await server.send("POST", "/assistants/search", { metadata, limit: 2, offset: 2 });
    expect(last.headers.get("x-pagination-total")).toBe("3");
    expect(last.headers.get("x-pagination-next")).toBeNull();
    expect(await server.client.assistants.search({ metadata, graphId: "mirror" })).toEqual([]);
    expect(await server.client.assistants.search({ metadata, name: "LPH" })).toMatchObject([{ name: "alpha" }]);
  });

  test("POST /assistants/count 200: a number", async () => {
    const metadata = { count: crypto.randomUUID() };
    for (const name of ["one", "two"]) await server.client.assistants.create({ graphId: "counter", name, metadata });
    expect(await server.client.assistants.count({ metadata })).toBe(2);
    expect(await send("POST", "/assistants/count", { metadata, name: "tw" })).toEqual([200, "1"]);
    expect(await server.client.assistants.count({ graphId: "talker" })).toBe(1);
  });
});

test("GET /assistants/:assistant_id 200: by its id, and a graph's own by the graph's id too", async () => {
  const made = await server.client.assistants.create({ graphId: "counter" });
  expect(await server.client.assistants.get(made.assistant_id)).toEqual(made);
  const own = await server.client.assistants.get("counter");
  expect(own).toMatchObject({ assistant_id: systemAssistantId("counter"), metadata: { created_by: "system" } });
  expect(await server.client.assistants.get(own.assistant_id)).toEqual(own);
});

describe("versions", () => {
  test("PATCH /assistants/:assistant_id 200: each one is a version, metadata is merged, the rest replaced", async () => {
    const made = await server.client.assistants.create({
      graphId: "counter",
      metadata: { a: 1, b: 1 },
      config: { configurable: { x: 1, y: 1 } },
    });
    const id = made.assistant_id;
    const patched = await server.client.assistants.update(id, {
      graphId: "mirror",
      metadata: { b: 2 },
      config: { configurable: { x: 2 } },
      context: { model: "offline" },
      name: "Later",
      description: "changed",
    });
    expect(patched).toMatchObject({
      version: 2,
      graph_id: "mirror",
      metadata: { a: 1, b: 2 },
      config: { configurable: { x: 2 } },
      context: { model: "offline" },
      name: "Later",
      description: "changed",
      created_at: made.created_at,
    });
    expect(patched.config).toEqual({ configurable: { x: 2 } });
    expect(await (await server.send("PATCH", `/assistants/${id}`, {})).json()).toMatchObject({ version: 3 });
    const [status, text] = await send("PATCH", `/assistants/${id}`, { graph_id: "unknown" });
    expect([status, text]).toEqual([404, expect.stringContaining('Graph "unknown" not found')]);
  });

  test("POST /assistants/:assistant_id/versions 200: newest first, without updated_at, paged and filtered", async () => {
    const made = await server.client.assistants.create({ graphId: "counter", metadata: { step: 1 } });
    const id = made.assistant_id;
    await server.client.assistants.update(id, { metadata: { step: 2 } });
    await server.client.assistants.update(id, { name: "Third" });
    const versions = await server.client.assistants.getVersions(id);
    expect(versions.map(({ version, name }) => [version, name])).toEqual([
      [3, "Third"],
      [2, "Untitled"],
      [1, "Untitled"],
    ]);
    const { updated_at: _updatedAt, ...first } = made;
    expect(versions[2]).toEqual(first);
    expect(await server.client.assistants.getVersions(id, { limit: 1, offset: 1 })).toMatchObject([{ version: 2 }]);
    expect(await server.client.assistants.getVersions(id, { metadata: { step: 1 } })).toMatchObject([{ version: 1 }]);
    expect(await server.client.assistants.getVersions("flood")).toMatchObject([{ version: 1, graph_id: "flood" }]);
  });

  test("POST /assistants/:assistant_id/latest 200: an earlier version as a whole is used again", async () => {
    const made = await server.client.assistants.create({ graphId: "counter", context: { model: "a" } });
    const id = made.assistant_id;
    await server.client.assistants.update(id, { graphId: "mirror", context: { model: "b" }, description: "later" });
    const latest = await server.client.assistants.setLatest(id, 1);
    expect(latest).toEqual({ ...made, updated_at: latest.updated_at });
    expect(await server.client.assistants.get(id)).toEqual(latest);
    expect(await server.client.assistants.update(id, {})).toMatchObject({ version: 3, graph_id: "counter" });
    expect(await send("POST", `/assistants/${id}/latest`, { version: 9 })).toEqual([
      404,
      "Assistant version not found",
    ]);
  });

  test("of a system assistant survive a restart, and it can be set back to the first one", async () => {
    const other = await startTestServer();
    const changed = await other.client.assistants.update("counter", { name: "Ours", context: { model: "b" } });
    expect(changed).toMatchObject({ version: 2, name: "Ours", assistant_id: systemAssistantId("counter") });
    await other.close();
    const again = await other.restart();
    expect(await again.client.assistants.get("counter")).toEqual(changed);
    expect(await again.client.assistants.search({ graphId: "counter" })).toEqual([changed]);
    expect(await again.client.assistants.setLatest("counter", 1)).toMatchObject({ name: "counter", version: 1 });
    await again.remove();
  });
});

describe("a run by an assistant", () => {
  test("uses the assistant's configuration, context and metadata, which those of the run override", async () => {
    const { assistant_id } = await server.client.assistants.create({
      graphId: "mirror",
      config: { configurable: { tone: "dry", pace: "slow" } },
      context: { model: "a", tools: [] },
      metadata: { team: "red" },
    });
    const { thread_id } = await server.client.threads.create();
    const values = await server.client.runs.wait(thread_id, assistant_id, {
      input: {},
      config: { configurable: { pace: "fast" } },
      context: { model: "b" },
    });
    expect(values).toMatchObject({
      seen: {
        configurable: { tone: "dry", pace: "fast", assistant_id, graph_id: "mirror" },
        context: { model: "b", tools: [] },
      },
    });
    const [run] = await server.client.runs.list(thread_id);
    expect(run).toMatchObject({ assistant_id, metadata: { team: "red" } });
    expect(await server.client.threads.get(thread_id)).toMatchObject({
      metadata: { assistant_id, graph_id: "mirror" },
    });
  });
});

describe("DELETE /assistants/:assistant_id", () => {
  test("DELETE /assistants/:assistant_id 200: its versions and runs are deleted, threads stay", async () => {
    const { assistant_id } = await server.client.assistants.create({ graphId: "gated" });
    const { thread_id } = await server.client.threads.create();
    openGate("of an assistant");
    await server.client.runs.wait(thread_id, assistant_id, { input: { gate: "of an assistant" } });
    const working = await server.client.threads.create();
    await server.client.runs.create(working.thread_id, assistant_id, { input: { gate: crypto.randomUUID() } });
    await server.client.crons.create(assistant_id, { schedule: "0 0 1 1 *" });
    expect(await send("DELETE", `/assistants/${assistant_id}`)).toEqual([200, JSON.stringify([assistant_id])]);
    expect((await send("GET", `/assistants/${assistant_id}`))[0]).toBe(404);
    expect(await server.client.runs.list(thread_id)).toEqual([]);
    expect(await server.client.crons.count({ assistantId: assistant_id })).toBe(0);
    expect(await server.client.threads.get(thread_id)).toMatchObject({ values: { passed: true } });
    expect(await server.client.threads.get(working.thread_id)).toMatchObject({ status: "interrupted" });
    await expect(server.client.runs.wait(thread_id, assistant_id, { input: {} })).rejects.toThrow("HTTP 404");
  });

  test("with delete_threads the threads that last used it are deleted as well", async () => {
    const { assistant_id } = await server.client.assistants.create({ graphId: "counter" });
    const { thread_id } = await server.client.threads.create();
    await server.client.runs.wait(thread_id, assistant_id, { input: {} });
    const other = await server.client.threads.create();
    await server.client.assistants.delete(assistant_id, { deleteThreads: true });
    expect((await send("GET", `/threads/${thread_id}`))[0]).toBe(404);
    expect((await send("GET", `/threads/${other.thread_id}`))[0]).toBe(200);
  });

  test("DELETE /assistants/:assistant_id 403: a system assistant stays", async () => {
    const [status, text] = await send("DELETE", "/assistants/counter");
    expect([status, text]).toEqual([403, expect.stringContaining("whose own assistant stays")]);
    expect((await send("GET", "/assistants/counter"))[0]).toBe(200);
  });
});

describe("owners", () => {
  const keyed = (key: string): Record<string, string> => ({ "x-api-key": key });
  let owned: TestServer;
  beforeAll(async () => {
    const apiKeys = ["ada", "bob", "admin"].map((owner) => ({ owner, key: `key-of-${owner}` }));
    owned = await startTestServer({ apiKeys });
  });
  afterAll(() => owned.remove());

  test("see their own and the system's assistants; those of others are 404", async () => {
    const create = { graph_id: "counter", name: "hers" };
    const made = await owned.send("POST", "/assistants", create, keyed("key-of-ada"));
    const { assistant_id: id } = z.object({ assistant_id: z.string() }).parse(await made.json());
    const asBob = async (method: string, path: string, body?: unknown): Promise<[number, string]> =>
      statusAndText(await owned.send(method, path, body, keyed("key-of-bob")));
    expect(await asBob("GET", `/assistants/${id}`)).toEqual([404, "Assistant not found"]);
    expect(await asBob("PATCH", `/assistants/${id}`, {})).toEqual([404, "Assistant not found"]);
    expect(await asBob("POST", `/assistants/${id}/latest`, { version: 1 })).toEqual([404, "Assistant not found"]);
    expect(await asBob("DELETE", `/assistants/${id}`)).toEqual([404, "Assistant not found"]);
    expect(await asBob("POST", "/assistants/count", { name: "hers" })).toEqual([200, "0"]);
    expect((await asBob("POST", "/assistants", { ...create, assistant_id: id, if_exists: "do_nothing" }))[0]).toBe(409);
    const [status, text] = await asBob("POST", "/runs/wait", { assistant_id: id, input: {} });
    expect([status, text]).toEqual([404, expect.stringContaining(`No assistant found for "${id}".`)]);
    const used = await owned.send("POST", "/runs/wait", { assistant_id: id, input: {} }, keyed("key-of-ada"));
    expect(await used.json()).toEqual({ value: 1 });
  });

  test("PATCH /assistants/:assistant_id 403: only the owner admin changes a system assistant", async () => {
    const patch = (key: string): Promise<Response> =>
      owned.send("PATCH", "/assistants/counter", { name: "changed" }, keyed(key));
    expect((await patch("key-of-ada")).status).toBe(403);
    expect((await patch("key-of-admin")).status).toBe(200);
  });

  test("POST /assistants/:assistant_id/latest 403: the same holds for its versions", async () => {
    const response = await owned.send("POST", "/assistants/mirror/latest", { version: 1 }, keyed("key-of-bob"));
    expect(response.status).toBe(403);
  });
});

test("GET /assistants/:assistant_id/graph 200: nodes and edges, subgraphs opened by xray", async () => {
  const { assistant_id } = await server.client.assistants.create({ graphId: "nested" });
  const plain = await server.client.assistants.getGraph(assistant_id);
  expect(plain).toEqual({
    nodes: [
      expect.objectContaining({ id: "__start__", type: "schema" }),
      expect.objectContaining({ id: "inside", type: "runnable", data: { id: expect.any(Array), name: "LangGraph" } }),
      expect.objectContaining({ id: "__end__", type: "schema" }),
    ],
    edges: [
      expect.objectContaining({ source: "__start__", target: "inside" }),
      expect.objectContaining({ source: "inside", target: "__end__" }),
    ],
  });
  const nodesOf = async (xray: boolean | number): Promise<string[]> =>
    (await server.client.assistants.getGraph("deep", { xray })).nodes.map((node) => String(node.id));
  expect(await nodesOf(false)).toEqual(["__start__", "outer", "__end__"]);
  const opened = ["outer:first", "outer:inner:second", "outer:inner:third"];
  expect(await nodesOf(true)).toEqual(expect.arrayContaining(opened));
  expect(await nodesOf(2)).toEqual(expect.arrayContaining(opened));
});

test("GET /assistants/:assistant_id/schemas 200: those of its graph", async () => {
  const { assistant_id } = await server.client.assistants.create({ graphId: "counter" });
  const schemas = await server.client.assistants.getSchemas(assistant_id);
  expect(Object.keys(schemas).toSorted()).toEqual(
    ["config_schema", "context_schema", "graph_id", "input_schema", "output_schema", "state_schema"].toSorted(),
  );
  expect(schemas.state_schema).toMatchObject({ properties: { value: { type: "number" } } });
});

test("GET /assistants/:assistant_id/subgraphs 200: each with its four schemas", async () => {
  const { assistant_id } = await server.client.assistants.create({ graphId: "nested" });
  const found = await server.client.assistants.getSubgraphs(assistant_id, { recurse: true });
  expect(Object.keys(found)).toEqual(["inside"]);
  expect(found["inside"]).toMatchObject({ state: {}, input: {}, output: {} });
  expect(Object.keys(await server.client.assistants.getSubgraphs("deep"))).toEqual(["outer"]);
  expect(Object.keys(await server.client.assistants.getSubgraphs("deep", { recurse: true }))).toEqual([
    "outer",
    "outer|inner",
  ]);
});

test("GET /assistants/:assistant_id/subgraphs/:namespace 200: one of them", async () => {
  expect(Object.keys(await server.client.assistants.getSubgraphs("nested", { namespace: "inside" }))).toEqual([
    "inside",
  ]);
  expect(await server.client.assistants.getSubgraphs("nested", { namespace: "nowhere" })).toEqual({});
});
