import { afterAll, beforeAll, expect, test } from "vitest";
import { eventsOf, type ReadEvent } from "@millrace/testing/read-events";
import { pruneThreads } from "../support/requests/both-sdks.ts";
import { startTestServer, type TestServer } from "../support/test-server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.remove());

const newThread = async (): Promise<string> => (await server.client.threads.create()).thread_id;
const counted = async (): Promise<string> => {
  const threadId = await newThread();
  await server.client.runs.wait(threadId, "counter", { input: { value: 1 } });
  return threadId;
};

/** The first events of a stream that stays open. */
async function firstOf(response: Response, count: number): Promise<ReadEvent[]> {
  const taken: ReadEvent[] = [];
  for await (const event of eventsOf(response)) {
    taken.push(event);
    if (taken.length === count) break;
  }
  return taken;
}

test("GET /ok 200", async () => {
  expect(await (await server.send("GET", "/ok")).json()).toEqual({ ok: true });
});

test("GET /info 200: a version that Studio accepts, and the server's capabilities", async () => {
  expect(await (await server.send("GET", "/info")).json()).toMatchObject({
    version: expect.stringMatching(/^1\.[5-9]/u),
    langgraph_js_version: expect.any(String),
    context: "js",
    flags: { assistants: true, crons: true, langsmith: false, stream_namespaces: true },
  });
});

test("POST /threads/prune 200: the number of pruned threads, of those that exist", async () => {
  const [one, other] = [await counted(), await counted()];
  const missing = "0192d1c4-7d5e-7000-8000-00000000dead";
  const kept = await server.send("POST", "/threads/prune", { thread_ids: [one], strategy: "keep_latest" });
  expect(await kept.json()).toEqual({ pruned_count: 1 });
  expect(await server.client.threads.getHistory(one)).toHaveLength(1);
  expect(await pruneThreads(server, [one, other, missing])).toEqual({ pruned_count: 2 });
});

test("POST /threads/prune 400: no list of ids", async () => {
  expect((await server.send("POST", "/threads/prune", { thread_ids: "all" })).status).toBe(400);
});

test("GET /threads/:thread_id/stream 200: all runs of a thread, the events of each from 0 on", async () => {
  const threadId = await counted();
  await server.client.runs.wait(threadId, "counter", { input: { value: 5 } });
  const headers = { "last-event-id": "-1" };
  const response = await server.send("GET", `/threads/${threadId}/stream`, undefined, headers);
  expect(response.headers.get("content-location")).toBe(`/threads/${threadId}/stream`);
  const events = await firstOf(response, 6);
  expect(events.map(({ event }) => event)).toEqual(["metadata", "values", "values", "metadata", "values", "values"]);
  const places = events.map(({ id }) => id?.split("."));
  expect(places.map((parts) => parts?.[1])).toEqual(["0", "1", "2", "0", "1", "2"]);
  const runs = await server.client.runs.list(threadId);
  expect([...new Set(places.map((parts) => parts?.[0]))]).toEqual(runs.map(({ run_id }) => run_id).toReversed());
  const rest = { "last-event-id": events[3]?.id ?? "" };
  expect(await firstOf(await server.send("GET", `/threads/${threadId}/stream`, undefined, rest), 2)).toEqual(
    events.slice(4),
  );
});

test("POST /threads/:thread_id/commands 200: a result, or an error as an answer", async () => {
  const path = `/threads/${await counted()}/commands`;
  const state = await server.send("POST", path, { id: 1, method: "state.get" });
  expect(await state.json()).toMatchObject({ type: "success", id: 1, result: { values: { value: 2 } } });
  const unknown = await server.send("POST", path, { id: 2, method: "state.fork" });
  expect([unknown.status, await unknown.json()]).toMatchObject([
    200,
    { type: "error", id: 2, error: "unknown_command" },
  ]);
});

test("POST /threads/:thread_id/commands 400: the thread id is no UUID", async () => {
  expect((await server.send("POST", "/threads/no-uuid/commands", { id: 1, method: "state.get" })).status).toBe(400);
});

test("POST /threads/:thread_id/stream/events 200: the events of a thread", async () => {
  const threadId = crypto.randomUUID();
  const body = { id: 1, method: "run.start", params: { assistant_id: "counter", input: { value: 1 } } };
  expect(await (await server.send("POST", `/threads/${threadId}/commands`, body)).json()).toMatchObject({
    type: "success",
  });
  const path = `/threads/${threadId}/stream/events`;
  const [first] = await firstOf(await server.send("POST", path, { channels: ["lifecycle"] }), 1);
  expect(first).toMatchObject({
    event: "lifecycle",
    data: { type: "event", method: "lifecycle", params: { data: { event: "running", graph_name: "counter" } } },
  });
});

test("POST /threads/:thread_id/stream/events 400: an unknown key", async () => {
  const path = `/threads/${await newThread()}/stream/events`;
  expect((await server.send("POST", path, { channels: ["values"], colors: true })).status).toBe(400);
});

test("GET /threads/:thread_id/stream/events 426: it is a WebSocket", async () => {
  const response = await server.send("GET", `/threads/${await newThread()}/stream/events`);
  expect([response.status, response.headers.get("upgrade")]).toEqual([426, "websocket"]);
});

test("GET /threads/:thread_id/stream/events 400: the thread id is no UUID", async () => {
  expect((await server.send("GET", "/threads/no-uuid/stream/events")).status).toBe(400);
});

test("GET /threads/:thread_id/stream/events 101: commands, answers and events on one socket", async () => {
  const threadId = crypto.randomUUID();
  const socket = new WebSocket(`${server.url.replace("http", "ws")}/threads/${threadId}/stream/events`);
  const messages: unknown[] = [];
  const answered = Promise.withResolvers<void>();
  socket.addEventListener("message", ({ data }) => {
    messages.push(JSON.parse(String(data)));
    answered.resolve();
  });
  socket.addEventListener("error", () => answered.reject(new Error("the socket failed")));
  socket.addEventListener("open", () => socket.send(JSON.stringify({ id: 7, method: "state.fork", params: {} })));
  await answered.promise;
  socket.close();
  expect(messages[0]).toMatchObject({ type: "error", id: 7, error: "unknown_command" });
});
