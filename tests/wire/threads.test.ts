import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { openGate } from "../support/test-graphs.ts";
import { isSecondSdk, startTestServer, type TestServer } from "../support/test-server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.remove());

const missing = "0192d1c4-7d5e-7000-8000-00000000dead";
const notFound = `Thread with ID ${missing} not found`;
const isoDate = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const send = async (method: string, path: string, body?: unknown): Promise<[number, string]> => {
  const response = await server.send(method, path, body);
  return [response.status, await response.text()];
};
const Thread = z.looseObject({ thread_id: z.string() });
const Written = z.object({ checkpoint: z.looseObject({ checkpoint_id: z.string() }) });
const States = z.array(z.looseObject({ values: z.unknown(), checkpoint: Written.shape.checkpoint }));
// Where a test returns early for SDK 2.0.0, that version does not send the fields that follow.
const newThread = async (): Promise<string> => (await server.client.threads.create()).thread_id;
const counted = async (value: number): Promise<string> => {
  const threadId = await newThread();
  await server.client.runs.wait(threadId, "counter", { input: { value } });
  return threadId;
};

test.each([
  ["GET /threads/:thread_id 404", "GET", "", undefined, notFound],
  ["PATCH /threads/:thread_id 404", "PATCH", "", { metadata: {} }, notFound],
  ["DELETE /threads/:thread_id 404", "DELETE", "", undefined, notFound],
  ["POST /threads/:thread_id/copy 404", "POST", "/copy", undefined, notFound],
  ["GET /threads/:thread_id/state 404", "GET", "/state", undefined, notFound],
  ["GET /threads/:thread_id/state/:checkpoint_id 404", "GET", `/state/${missing}`, undefined, notFound],
  ["POST /threads/:thread_id/state/checkpoint 404", "POST", "/state/checkpoint", { checkpoint: {} }, notFound],
  ["POST /threads/:thread_id/state 404", "POST", "/state", { values: {} }, notFound],
  ["PATCH /threads/:thread_id/state 404", "PATCH", "/state", { metadata: {} }, notFound],
  ["GET /threads/:thread_id/history 404", "GET", "/history", undefined, notFound],
  ["POST /threads/:thread_id/history 404", "POST", "/history", {}, notFound],
  ["GET /threads/:thread_id/stream 404", "GET", "/stream", undefined, notFound],
])("%s: an unknown thread", async (_title, method, rest, body, text) => {
  expect(await send(method, `/threads/${missing}${rest}`, body)).toEqual([404, text]);
});

test.each([
  ["POST /threads 400", "POST", "/threads", { thread_id: "no uuid" }],
  ["POST /threads 400", "POST", "/threads", { supersteps: [{ updates: [] }] }],
  ["POST /threads/search 400", "POST", "/threads/search", { limit: 0 }],
  ["POST /threads/search 400", "POST", "/threads/search", { status: "asleep" }],
  ["POST /threads/search 400", "POST", "/threads/search", { extract: { first: "values..messages" } }],
  ["POST /threads/count 400", "POST", "/threads/count", { values: 1 }],
  ["GET /threads/:thread_id 400", "GET", "/threads/no-uuid", undefined],
  ["PATCH /threads/:thread_id 400", "PATCH", `/threads/${missing}`, { metadata: "none" }],
  ["DELETE /threads/:thread_id 400", "DELETE", "/threads/no-uuid", undefined],
  ["POST /threads/:thread_id/copy 400", "POST", "/threads/no-uuid/copy", undefined],
  ["GET /threads/:thread_id/state 400", "GET", `/threads/${missing}/state?subgraphs=perhaps`, undefined],
  ["GET /threads/:thread_id/state/:checkpoint_id 400", "GET", `/threads/${missing}/state/no-uuid`, undefined],
  ["POST /threads/:thread_id/state/checkpoint 400", "POST", `/threads/${missing}/state/checkpoint`, {}],
  ["POST /threads/:thread_id/state 400", "POST", `/threads/${missing}/state`, { values: "none" }],
  ["PATCH /threads/:thread_id/state 400", "PATCH", `/threads/${missing}/state`, {}],
  ["GET /threads/:thread_id/history 400", "GET", `/threads/${missing}/history?limit=0`, undefined],
  ["POST /threads/:thread_id/history 400", "POST", `/threads/${missing}/history`, { limit: "all" }],
  ["GET /threads/:thread_id/stream 400", "GET", "/threads/no-uuid/stream", undefined],
])("%s: an invalid request", async (_title, method, path, body) => {
  const response = await server.send(method, path, body);
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ success: false, error: { name: "ZodError", issues: [{}] } });
});

describe("POST /threads", () => {
  test("POST /threads 200: idle, without values and interrupts", async () => {
    const threadId = crypto.randomUUID();
    const thread = await server.client.threads.create({ threadId, metadata: { topic: "new" }, graphId: "counter" });
    expect(thread).toEqual({
      thread_id: threadId,
      created_at: isoDate,
      updated_at: isoDate,
      metadata: { topic: "new", graph_id: "counter" },
      status: "idle",
      config: {},
    });
  });

  test("POST /threads 409: the id exists, unless if_exists allows it", async () => {
    const thread = await server.client.threads.create();
    const { thread_id } = thread;
    expect(await send("POST", "/threads", { thread_id })).toEqual([409, "Thread already exists"]);
    expect(await server.client.threads.create({ threadId: thread_id, ifExists: "do_nothing" })).toEqual(thread);
  });

  test("supersteps give a new thread a history, with one state for each step", async () => {
    const thread = await server.client.threads.create({
      graphId: "counter",
      supersteps: [
        { updates: [{ values: { value: 5 }, asNode: "__input__" }] },
        { updates: [{ values: { value: 6 }, asNode: "add" }] },
      ],
    });
    expect(thread).toMatchObject({ status: "idle", values: { value: 6 }, metadata: { graph_id: "counter" } });
    const states = await server.client.threads.getHistory<{ value: number }>(thread.thread_id);
    expect(states.map(({ values }) => values.value)).toEqual([6, 0]);
    expect(states.map(({ next }) => next)).toEqual([[], ["__start__"]]);
    await server.client.runs.wait(thread.thread_id, "counter", { input: { value: 7 } });
    expect(await server.client.threads.get(thread.thread_id)).toMatchObject({ values: { value: 8 } });
  });

  test("supersteps with a command lead to its node, and the thread waits there", async () => {
    const thread = await server.client.threads.create({
      graphId: "counter",
      supersteps: [{ updates: [{ values: null, command: { update: { value: 3 }, goto: "add" }, asNode: "add" }] }],
    });
    expect(thread).toMatchObject({ status: "interrupted", values: { value: 3 } });
    expect(await server.client.runs.wait(thread.thread_id, "counter", { input: null })).toEqual({ value: 4 });
  });

  test("supersteps without a graph, or with an unknown node, create no thread", async () => {
    const supersteps = [{ updates: [{ values: { value: 1 }, as_node: "unknown" }] }];
    const thread_id = crypto.randomUUID();
    const [status, text] = await send("POST", "/threads", { thread_id, supersteps });
    expect([status, text]).toEqual([400, expect.stringContaining(`Thread ${thread_id} has no graph ID`)]);
    const wrong = await send("POST", "/threads", { thread_id, supersteps, metadata: { graph_id: "counter" } });
    expect(wrong[0]).toBe(400);
    expect((await send("GET", `/threads/${thread_id}`))[0]).toBe(404);
  });

  test("POST /threads 404: the graph of its supersteps is not served", async () => {
    const supersteps = [{ updates: [{ values: {}, as_node: "add" }] }];
    const [status, text] = await send("POST", "/threads", { supersteps, metadata: { graph_id: "unknown" } });
    expect([status, text]).toEqual([404, expect.stringContaining('Graph "unknown" not found')]);
  });
});

describe("POST /threads/search", () => {
  test("POST /threads/search 200: by metadata, status and ids, paged, newest first", async () => {
    const metadata = { search: crypto.randomUUID() };
    const ids: string[] = [];
    for (const order of [1, 2, 3]) {
      ids.push((await server.client.threads.create({ metadata: { ...metadata, order } })).thread_id);
    }
    const response = await server.send("POST", "/threads/search", { metadata, limit: 2 });
    expect(response.headers.get("x-pagination-total")).toBe("3");
    expect(response.headers.get("x-pagination-next")).toBe("2");
    expect(await response.json()).toMatchObject([{ metadata: { order: 3 } }, { metadata: { order: 2 } }]);
    const found = await server.client.threads.search({ ids, status: "idle", sortBy: "thread_id", sortOrder: "asc" });
    expect(found.map(({ thread_id }) => thread_id)).toEqual(ids.toSorted());
    expect(await server.client.threads.search({ metadata, status: "busy" })).toEqual([]);
  });

  test("a search filters by the values of the latest state, with messages as on the wire", async () => {
    const metadata = { by: crypto.randomUUID() };
    const ids: string[] = [];
    for (const value of [1, 2, 2]) {
      const { thread_id } = await server.client.threads.create({ metadata });
      await server.client.runs.wait(thread_id, "counter", { input: { value } });
      ids.push(thread_id);
    }
    const two = await server.client.threads.search({ metadata, values: { value: 3 } });
    expect(two.map(({ thread_id }) => thread_id)).toEqual([ids[2], ids[1]]);
    const page = await server.send("POST", "/threads/search", { metadata, values: { value: 3 }, limit: 1, offset: 1 });
    expect(page.headers.get("x-pagination-total")).toBe("2");
    expect(await page.json()).toMatchObject([{ thread_id: ids[1] }]);
    const { thread_id } = await server.client.threads.create({ metadata });
    await server.client.runs.wait(thread_id, "talker", { input: { messages: [{ role: "user", content: "hi" }] } });
    const values = { messages: [{ type: "ai", content: "Hello there" }] };
    expect(await server.client.threads.search({ metadata, values })).toMatchObject([{ thread_id }]);
  });

  test("a search filters by the date of the state, and returns only what is selected and extracted", async () => {
    const metadata = { sorted: crypto.randomUUID() };
    const [first, second] = [await newThread(), await newThread()];
    for (const threadId of [second, first]) {
      await server.client.runs.wait(threadId, "talker", { input: { messages: [{ role: "user", content: "hi" }] } });
    }
    for (const threadId of [first, second]) await server.client.threads.update(threadId, { metadata });
    const found = await server.client.threads.search({ metadata, sortBy: "state_updated_at" });
    expect(found.map(({ thread_id }) => thread_id)).toEqual([first, second]);
    const { checkpoint_id } = (await server.client.threads.getState(first)).checkpoint;
    expect(checkpoint_id).toBeDefined();
    expect(found[0]?.state_updated_at).toEqual((await server.client.threads.getState(first)).created_at);
    if (isSecondSdk) return;
    const extracted = await server.client.threads.search({
      metadata,
      select: ["thread_id"],
      extract: { last: "values.messages[-1].content", graph: "metadata.graph_id", none: "values.nothing[3].here" },
      sortBy: "state_updated_at",
      limit: 1,
    });
    expect(extracted).toEqual([{ thread_id: first, extracted: { last: "Hello there", graph: "talker", none: null } }]);
  });

  test("POST /threads/count 200: a number, by the same filters", async () => {
    const metadata = { count: crypto.randomUUID() };
    for (const value of [1, 2]) {
      const { thread_id } = await server.client.threads.create({ metadata });
      await server.client.runs.wait(thread_id, "counter", { input: { value } });
    }
    expect(await send("POST", "/threads/count", { metadata })).toEqual([200, "2"]);
    expect(await server.client.threads.count({ metadata, values: { value: 3 } })).toBe(1);
    expect(await server.client.threads.count({ metadata, status: "interrupted" })).toBe(0);
  });
});

describe("one thread", () => {
  test("GET /threads/:thread_id 200: with its latest values, their date, and the error of its last run", async () => {
    const threadId = await counted(1);
    const thread = await server.client.threads.get(threadId);
    const state = await server.client.threads.getState(threadId);
    expect(thread).toMatchObject({ values: { value: 2 }, interrupts: {}, state_updated_at: state.created_at });
    expect(thread).not.toHaveProperty("error");
    await server.client.runs.wait(threadId, "failing", { input: {}, raiseError: false });
    expect(await server.client.threads.get(threadId)).toMatchObject({
      status: "error",
      error: { error: "RangeError", message: "out of luck" },
    });
  });

  test("PATCH /threads/:thread_id 200: metadata is merged", async () => {
    const { thread_id } = await server.client.threads.create({ metadata: { a: 1, b: 1 } });
    expect(await server.client.threads.update(thread_id, { metadata: { b: 2 } })).toMatchObject({
      thread_id,
      metadata: { a: 1, b: 2 },
    });
  });

  test("PATCH /threads/:thread_id 204: without a body when the client prefers that", async () => {
    const threadId = await newThread();
    const headers = { prefer: "respond-async, return=minimal" };
    const response = await server.send("PATCH", `/threads/${threadId}`, { metadata: { a: 1 } }, headers);
    expect([response.status, await response.text()]).toEqual([204, ""]);
    expect(response.headers.get("preference-applied")).toBe("return=minimal");
    const updated = await server.client.threads.update(threadId, { metadata: { b: 2 }, returnMinimal: true });
    if (!isSecondSdk) expect(updated).toBeUndefined();
    expect(await server.client.threads.get(threadId)).toMatchObject({ metadata: { a: 1, b: 2 } });
  });

  test("DELETE /threads/:thread_id 204: its run is stopped, and everything is deleted", async () => {
    const threadId = await newThread();
    const run = await server.client.runs.create(threadId, "gated", { input: { gate: crypto.randomUUID() } });
    expect(await send("DELETE", `/threads/${threadId}`)).toEqual([204, ""]);
    expect((await send("GET", `/threads/${threadId}/runs/${run.run_id}`))[0]).toBe(404);
    expect((await send("GET", `/threads/${threadId}/state`))[0]).toBe(404);
  });

  test("POST /threads/:thread_id/copy 200: state and history under a new id, without the runs", async () => {
    const threadId = await counted(1);
    const copy = Thread.parse(await (await server.send("POST", `/threads/${threadId}/copy`)).json());
    expect(copy).toMatchObject({ status: "idle", metadata: { graph_id: "counter", thread_id: copy.thread_id } });
    expect(copy).not.toHaveProperty("values");
    expect(copy.thread_id).not.toBe(threadId);
    const [before, after] = await Promise.all([
      server.client.threads.getHistory(threadId),
      server.client.threads.getHistory(copy.thread_id),
    ]);
    expect(after.map(({ values }) => values)).toEqual(before.map(({ values }) => values));
    expect(JSON.stringify(after)).not.toContain(threadId + '"');
    expect(await server.client.runs.list(copy.thread_id)).toEqual([]);
  });
});

describe("the state of a thread", () => {
  test("GET /threads/:thread_id/state 200: the latest one; only the selected fields and keys", async () => {
    const threadId = await counted(1);
    const state = await server.client.threads.getState(threadId);
    expect(state).toMatchObject({
      values: { value: 2 },
      next: [],
      tasks: [],
      metadata: { source: "loop" },
      created_at: isoDate,
      checkpoint: { thread_id: threadId, checkpoint_ns: "", checkpoint_id: expect.any(String), checkpoint_map: null },
      parent_checkpoint: { thread_id: threadId, checkpoint_ns: "" },
      interrupts: [],
    });
    const select = async (fields: string): Promise<unknown> =>
      (await server.send("GET", `/threads/${threadId}/state?${fields}`)).json();
    expect(await select("select=values.value&select=next")).toEqual({ values: { value: 2 }, next: [] });
    expect(await select("select=values.nothing")).toEqual({ values: {} });
    // As SDK 2.0.0 sends a list.
    expect(await select(`select=${encodeURIComponent('["next","created_at"]')}`)).toEqual({
      next: [],
      created_at: state.created_at,
    });
    if (isSecondSdk) return;
    const chosen = await server.client.threads.getState(threadId, undefined, { select: ["values.value"] });
    expect(chosen).toEqual({ values: { value: 2 } });
  });

  test("a thread without a graph has an empty state and no history", async () => {
    const threadId = await newThread();
    expect(await server.client.threads.getState(threadId)).toEqual({
      values: {},
      next: [],
      tasks: [],
      metadata: {},
      created_at: null,
      checkpoint: null,
      parent_checkpoint: null,
    });
    expect(await server.client.threads.getHistory(threadId)).toEqual([]);
  });

  test("GET /threads/:thread_id/state/:checkpoint_id 200: an earlier one; an unknown checkpoint is 404", async () => {
    const threadId = await counted(1);
    const first = (await server.client.threads.getHistory(threadId)).at(-1);
    const id = first?.checkpoint.checkpoint_id ?? "";
    expect(await server.client.threads.getState(threadId, id)).toEqual(first);
    expect(await send("GET", `/threads/${threadId}/state/${missing}`)).toEqual([
      404,
      `Checkpoint ${missing} not found`,
    ]);
    if (isSecondSdk) return;
    expect(await server.client.threads.getState(threadId, id, { select: ["next"] })).toEqual({ next: first?.next });
  });

  test("POST /threads/:thread_id/state/checkpoint 200: by a whole checkpoint, also with subgraphs: true", async () => {
    const threadId = await newThread();
    await server.client.runs.wait(threadId, "nestedAsker", { input: {} });
    const { checkpoint } = await server.client.threads.getState(threadId);
    const state = await server.client.threads.getState(threadId, checkpoint, { subgraphs: true });
    expect(state.tasks).toMatchObject([
      { name: "inside", checkpoint: null, state: { next: ["ask"], tasks: [{ name: "ask", interrupts: [{}] }] } },
    ]);
    const plain = await server.client.threads.getState(threadId, checkpoint);
    expect(plain.tasks).toMatchObject([{ checkpoint: { thread_id: threadId }, state: null }]);
    const inner = plain.tasks[0]?.checkpoint;
    if (!inner) throw new Error("the task of a subgraph says where its state is");
    expect(await server.client.threads.getState(threadId, inner)).toMatchObject({ next: ["ask"] });
    if (isSecondSdk) return;
    expect(await server.client.threads.getState(threadId, inner, { select: ["next"] })).toEqual({ next: ["ask"] });
  });

  test("POST /threads/:thread_id/state 200: as if a node had returned the values; null forks", async () => {
    const threadId = await counted(1);
    const written = await server.client.threads.updateState(threadId, { values: { value: 9 }, asNode: "add" });
    const { checkpoint } = await server.client.threads.getState(threadId);
    expect(written).toEqual({ checkpoint, configurable: checkpoint });
    expect(await server.client.threads.get(threadId)).toMatchObject({ status: "idle", values: { value: 9 } });
    const first = (await server.client.threads.getHistory(threadId)).at(-1);
    const body = { values: null, checkpoint: first?.checkpoint };
    const fork = Written.parse(await (await server.send("POST", `/threads/${threadId}/state`, body)).json());
    expect(fork.checkpoint.checkpoint_id).not.toBe(first?.checkpoint.checkpoint_id);
    const [status, text] = await send("POST", `/threads/${await newThread()}/state`, { values: {} });
    expect([status, text]).toEqual([400, expect.stringContaining("has no graph ID")]);
  });

  test.each(["unknown", "constructor", "__proto__"])(
    "a state update as the unknown node %s is refused",
    async (as_node) => {
      const threadId = await counted(1);
      expect((await send("POST", `/threads/${threadId}/state`, { values: { value: 9 }, as_node }))[0]).toBe(400);
      const thread = {
        metadata: { graph_id: "counter" },
        supersteps: [{ updates: [{ values: { value: 9 }, as_node }] }],
      };
      expect((await send("POST", "/threads", thread))[0]).toBe(400);
    },
  );

  test("a state update at an unknown checkpoint is refused, since it would start from an empty state", async () => {
    const threadId = await counted(1);
    const before = await server.client.threads.getState(threadId);
    const unknown = [404, expect.stringContaining(`Checkpoint ${missing} not found`)];
    for (const values of [{ value: 9 }, null]) {
      expect(await send("POST", `/threads/${threadId}/state`, { values, checkpoint_id: missing })).toEqual(unknown);
    }
    expect(await server.client.threads.getState(threadId)).toEqual(before);
  });

  test("POST /threads/:thread_id/state 409: a run is active", async () => {
    const threadId = await newThread();
    const gate = crypto.randomUUID();
    const run = await server.client.runs.create(threadId, "gated", { input: { gate } });
    expect(await send("POST", `/threads/${threadId}/state`, { values: {} })).toEqual([409, "Thread is busy"]);
    openGate(gate);
    await server.client.runs.join(threadId, run.run_id);
  });

  test("PATCH /threads/:thread_id/state 200: metadata is merged into that of the thread", async () => {
    const { thread_id } = await server.client.threads.create({ metadata: { a: 1 } });
    await server.client.threads.patchState(thread_id, { b: 2 });
    expect(await server.client.threads.get(thread_id)).toMatchObject({ metadata: { a: 1, b: 2 } });
    const body = { metadata: { c: 3 } };
    expect(await (await server.send("PATCH", `/threads/${thread_id}/state`, body)).json()).toMatchObject({
      thread_id,
      metadata: { a: 1, b: 2, c: 3 },
    });
  });
});

describe("the history of a thread", () => {
  test("GET /threads/:thread_id/history 200: newest first, limited, before a checkpoint", async () => {
    const threadId = await counted(1);
    const all = States.parse(await (await server.send("GET", `/threads/${threadId}/history`)).json());
    expect(all.map(({ values }) => values)).toEqual([{ value: 2 }, { value: 1 }, { value: 0 }]);
    const rest = `limit=1&before=${all[0]?.checkpoint.checkpoint_id}`;
    expect(await (await server.send("GET", `/threads/${threadId}/history?${rest}`)).json()).toEqual([all[1]]);
  });

  test("POST /threads/:thread_id/history 200: filtered by metadata, of a subgraph, with selected fields", async () => {
    const threadId = await counted(1);
    await server.client.runs.wait(threadId, "counter", { input: { value: 5 }, metadata: { second: true } });
    const second = await server.client.threads.getHistory(threadId, { metadata: { second: true } });
    expect(second.map(({ values }) => values)).toEqual([{ value: 6 }, { value: 5 }, { value: 2 }]);
    expect(second[0]?.metadata).toMatchObject({ second: true, source: "loop", graph_id: "counter" });
    const before = { configurable: { checkpoint_id: second[1]?.checkpoint.checkpoint_id ?? "" } };
    const [older] = await server.client.threads.getHistory(threadId, { before, limit: 1 });
    expect(older).toEqual(second[2]);
    const asked = await newThread();
    await server.client.runs.wait(asked, "nestedAsker", { input: {} });
    const [task] = (await server.client.threads.getState(asked)).tasks;
    const checkpoint_ns = task?.checkpoint?.checkpoint_ns ?? "";
    const inner = await server.client.threads.getHistory(asked, { checkpoint: { checkpoint_ns } });
    expect(inner[0]).toMatchObject({ next: ["ask"], checkpoint: { checkpoint_ns } });
    if (isSecondSdk) return;
    const selected = await server.client.threads.getHistory(threadId, { limit: 1, select: ["values.value", "next"] });
    expect(selected).toEqual([{ values: { value: 6 }, next: [] }]);
  });
});
