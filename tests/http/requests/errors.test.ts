import { Hono } from "hono";
import { afterAll, beforeAll, expect, test } from "vitest";
import { AppError } from "@millrace/engine/errors/errors";
import type { HttpEnvironment } from "@millrace/engine/http/environment";
import { respondError } from "@millrace/engine/http/errors";
import { requestBasics } from "@millrace/engine/http/middleware/request-basics";
import { createLogger } from "@millrace/engine/logger";
import { startTestServer, type TestServer } from "../../support/test-server.ts";

let server: TestServer;
let threadId: string;
beforeAll(async () => {
  server = await startTestServer({ bodyLimit: 10_000 });
  threadId = (await server.client.threads.create()).thread_id;
});
afterAll(() => server.remove());

const unknown = "00000000-0000-7000-8000-000000000000";

async function answer(response: Response): Promise<{ status: number; text: string }> {
  return { status: response.status, text: await response.text() };
}

test("an unknown route is 404 with LangGraph's message", async () => {
  expect(await answer(await server.send("GET", "/nowhere"))).toEqual({ status: 404, text: "404 Not Found" });
});

test.each([
  ["GET", `/threads/${unknown}`, undefined, `Thread with ID ${unknown} not found`],
  ["PATCH", `/threads/${unknown}`, {}, `Thread with ID ${unknown} not found`],
  ["DELETE", `/threads/${unknown}`, undefined, `Thread with ID ${unknown} not found`],
  ["POST", `/threads/${unknown}/copy`, undefined, `Thread with ID ${unknown} not found`],
  ["GET", `/threads/${unknown}/state`, undefined, `Thread with ID ${unknown} not found`],
  ["POST", `/threads/${unknown}/state`, { values: {} }, `Thread with ID ${unknown} not found`],
  ["GET", `/threads/${unknown}/history`, undefined, `Thread with ID ${unknown} not found`],
  ["GET", `/threads/${unknown}/runs`, undefined, `Thread with ID ${unknown} not found`],
  ["POST", `/threads/${unknown}/runs`, { assistant_id: "counter" }, `Thread with ID ${unknown} not found`],
  ["GET", `/threads/${unknown}/runs/${unknown}`, undefined, "Run not found"],
  ["GET", `/threads/${unknown}/runs/${unknown}/stream`, undefined, "Run not found"],
  ["GET", `/threads/${unknown}/runs/${unknown}/join`, undefined, "Run not found"],
  ["POST", `/threads/${unknown}/runs/${unknown}/cancel`, undefined, "Run not found"],
  ["DELETE", `/threads/${unknown}/runs/${unknown}`, undefined, "Run not found"],
  ["GET", `/runs/${unknown}/stream`, undefined, "Run not found"],
] as const)("%s %s with an unknown id is 404", async (method, path, body, text) => {
  expect(await answer(await server.send(method, path, body))).toEqual({ status: 404, text });
});

test("an unknown assistant of a run is 404 and no run is admitted", async () => {
  expect(
    await answer(await server.send("POST", `/threads/${threadId}/runs/wait`, { assistant_id: "unknown" })),
  ).toEqual({
    status: 404,
    text: 'No assistant found for "unknown". Make sure the assistant ID is for a valid assistant or a valid graph ID.',
  });
  expect(await server.client.runs.list(threadId)).toEqual([]);
});

test.each(["{", "[1,]", "nothing", '{"a":1}}'])("text that is not JSON is 400: %s", async (text) => {
  expect(await answer(await server.send("POST", "/threads", text))).toEqual({
    status: 400,
    text: "Malformed JSON in request body",
  });
});

test.each([
  ["POST", "/threads", { metadata: "secret text" }, "metadata"],
  ["POST", "/threads", { thread_id: "../../etc/passwd" }, "thread_id"],
  ["POST", "/threads/search", { limit: 100_000 }, "limit"],
  ["POST", "/threads/search", { sort_by: "secret text" }, "sort_by"],
  ["POST", "/runs/wait", {}, "assistant_id"],
  ["POST", "/runs/wait", { assistant_id: "counter", stream_mode: "secret text" }, "stream_mode"],
  ["POST", "/runs/wait", { assistant_id: "counter", multitask_strategy: "secret text" }, "multitask_strategy"],
  ["POST", "/runs/wait", { assistant_id: "counter", config: { recursion_limit: "secret text" } }, "config"],
  ["GET", "/threads/abc/state", undefined, "thread_id"],
  ["GET", "/threads/..%2f..%2fetc/state", undefined, "thread_id"],
  ["GET", `/threads/${unknown}/runs/abc`, undefined, "run_id"],
  ["GET", `/threads/${unknown}/runs?limit=-1`, undefined, "limit"],
  ["POST", `/threads/${unknown}/runs/${unknown}/cancel?action=explode`, undefined, "action"],
] as const)(
  "%s %s with a wrong value is 400, names the field and does not repeat it",
  async (method, path, body, field) => {
    const response = await server.send(method, path, body);
    expect(response.status).toBe(400);
    const text = await response.text();
    expect(text).not.toContain("secret text");
    expect(JSON.parse(text)).toMatchObject({
      success: false,
      error: { name: "ZodError", issues: [{ path: expect.arrayContaining([field]), message: expect.any(String) }] },
    });
  },
);

test("a body over the limit is 413 with the limit, with and without a length", async () => {
  const text = JSON.stringify({ metadata: { long: "x".repeat(20_000) } });
  const expected = { status: 413, text: expect.stringContaining("10000 bytes") };
  expect(await answer(await server.send("POST", "/threads", text))).toEqual(expected);
  const chunked = new Blob([text]).stream();
  expect(await answer(await server.send("POST", "/threads", chunked))).toEqual(expected);
});

test("a chunked body within the limit is read", async () => {
  const body = new Blob(['{"metadata":{"a":', "1}}"]).stream();
  expect(await (await server.send("POST", "/threads", body)).json()).toMatchObject({ metadata: { a: 1 } });
});

test("JSON nested too deeply is 400", async () => {
  const deep = `{"metadata":{"a":${"[".repeat(1_000)}${"]".repeat(1_000)}}}`;
  expect(await answer(await server.send("POST", "/threads", deep))).toEqual({
    status: 400,
    text: "JSON in request body is nested deeper than 64 levels",
  });
});

test.each(["__proto__", String.raw`\u005f_proto__`, String.raw`__pro\u0074o__`, String.raw`__prot\u006F__`])(
  "a key that would set a prototype is dropped, written as %s",
  async (key) => {
    const body = `{"metadata":{"a":{"${key}":{"polluted":true},"\\u0061b":"\\u005f_proto__"}}}`;
    const response = await server.send("POST", "/threads", body);
    expect(await response.text()).toContain('"metadata":{"a":{"ab":"__proto__"}}');
  },
);

test.each(["application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "image/png"])(
  "a body of type %s is 415",
  async (type) => {
    const response = await server.send("POST", "/threads", "{}", { "content-type": type });
    expect(await answer(response)).toEqual({ status: 415, text: expect.stringContaining(type.split(";", 1)[0] ?? "") });
  },
);

test("text that contains JSON is read as JSON, as Studio sends it; no body is an empty one", async () => {
  const text = await server.send("POST", "/threads", '{"metadata":{"a":1}}', { "content-type": "text/plain" });
  expect(await text.json()).toMatchObject({ metadata: { a: 1 } });
  const nothing = await fetch(`${server.url}/threads`, { method: "POST" });
  expect(nothing.status).toBe(200);
});

test.each(["abc", "-2", "1.5"])("Last-Event-ID %s is 400", async (id) => {
  const run = await server.client.runs.create(threadId, "counter", { input: {} });
  await server.client.runs.join(threadId, run.run_id);
  const path = `/threads/${threadId}/runs/${run.run_id}/stream`;
  const response = await server.send("GET", path, undefined, { "last-event-id": id });
  expect(await answer(response)).toEqual({ status: 400, text: expect.stringContaining("Last-Event-ID") });
});

test("every answer has a request id, the client's own if it is a plain token", async () => {
  const own = await server.send("GET", "/ok", undefined, { "x-request-id": "abc-1" });
  expect(own.headers.get("x-request-id")).toBe("abc-1");
  const odd = await server.send("GET", "/ok", undefined, { "x-request-id": "a b" });
  expect(odd.headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
});

test.each([
  ["an AppError", new AppError("storage_full", "The disk is full."), 507],
  ["a bug", new Error("unexpected"), 500],
])("%s is logged with the request id of the answer", async (_name, failure, status) => {
  const lines: string[] = [];
  const app = new Hono<HttpEnvironment>();
  const logger = createLogger("error", { write: (line) => void lines.push(line) });
  app.onError((error, context) => respondError(error, context, logger));
  app.use(requestBasics({ bodyLimit: 1_000, slowSeconds: 5, logger: createLogger("silent") }));
  app.get("/broken", () => {
    throw failure;
  });
  const response = await app.request("/broken", {}, { incoming: {}, outgoing: { headersSent: false } });
  expect(response.status).toBe(status);
  const id = response.headers.get("x-request-id");
  expect(id).toMatch(/^[\w-]{36}$/u);
  expect(lines.map((line): unknown => JSON.parse(line))).toMatchObject([
    { msg: "request_failed", path: "/broken", request_id: id, err: { message: failure.message } },
  ]);
});
