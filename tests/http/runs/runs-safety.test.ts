import { once } from "node:events";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { eventsOf, readEvents, readText, type ReadEvent } from "@millrace/testing/read-events";
import { Runs } from "@millrace/engine/runs/runs";
import { showLater } from "@millrace/testing/clock";
import { openGate } from "../../support/test-graphs.ts";
import { startTestServer, type TestServer } from "../../support/test-server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ queueLimit: 3, drainSeconds: 0.1 });
});
afterAll(() => server.remove());
afterEach(() => {
  vi.restoreAllMocks();
});

const newThread = async (): Promise<string> => (await server.client.threads.create()).thread_id;
const RunId = z.object({ run_id: z.string() });
const idOf = async (response: Response): Promise<string> => RunId.parse(await response.json()).run_id;
const idsOf = (events: ReadEvent[]): (string | undefined)[] => events.map((event) => event.id);

function join(threadId: string, runId: string, lastEventId: number): Promise<Response> {
  const headers = { "last-event-id": String(lastEventId) };
  return server.send("GET", `/threads/${threadId}/runs/${runId}/stream`, undefined, headers);
}

describe("an Idempotency-Key", () => {
  const post = (threadId: string, body: object, kind = "", key = "once") =>
    server.send("POST", `/threads/${threadId}/runs${kind}`, body, { "idempotency-key": key });

  it("makes one run of a hundred concurrent requests, of later ones, and over a restart", async () => {
    const threadId = await newThread();
    const body = { assistant_id: "gated", input: { gate: threadId } };
    const ids = await Promise.all(Array.from({ length: 100 }, async () => idOf(await post(threadId, body))));
    expect(new Set(ids).size).toBe(1);
    await server.close();
    server = await server.restart();
    expect(await idOf(await post(threadId, { input: { gate: threadId }, assistant_id: "gated" }))).toBe(ids[0]);
    openGate(threadId);
    await server.client.runs.join(threadId, ids[0] ?? "");
    expect(await idOf(await post(threadId, body))).toBe(ids[0]);
    expect(await server.client.runs.list(threadId)).toHaveLength(1);
  });

  it("returns the stream and the values of the existing run", async () => {
    const threadId = await newThread();
    const body = { assistant_id: "counter", input: { value: 1 }, stream_mode: "values" };
    const first = await readEvents(await post(threadId, body, "/stream"));
    expect(await readEvents(await post(threadId, body, "/stream"))).toEqual(first);
    expect(await (await post(threadId, body, "/wait")).json()).toEqual({ value: 2 });
    expect(await server.client.runs.list(threadId)).toHaveLength(1);
  });

  it("is refused with another body, and if it is invalid", async () => {
    const threadId = await newThread();
    const run = await post(threadId, { assistant_id: "counter", input: { value: 1 } });
    const other = await post(threadId, { assistant_id: "counter", input: { value: 2 } });
    expect([other.status, await other.text()]).toEqual([422, expect.stringContaining('Idempotency-Key "once"')]);
    expect((await post(threadId, { assistant_id: "counter" }, "", "k".repeat(256))).status).toBe(400);
    await server.client.runs.join(threadId, await idOf(run));
  });
});

describe("an Idempotency-Key of a run without a thread", () => {
  const post = (body: object, kind: string, key: string) =>
    server.send("POST", `/runs${kind}`, body, { "idempotency-key": key });

  it("makes one run of a hundred concurrent requests, and over a restart", async () => {
    const gate = crypto.randomUUID();
    const body = { assistant_id: "gated", input: { gate }, on_completion: "keep" };
    const ids = await Promise.all(Array.from({ length: 100 }, async () => idOf(await post(body, "", gate))));
    expect(new Set(ids).size).toBe(1);
    await server.close();
    server = await server.restart();
    expect(await idOf(await post(body, "", gate))).toBe(ids[0]);
    openGate(gate);
    expect((await post(body, "/wait", gate)).status).toBe(422);
    expect(await (await server.send("GET", `/runs/${ids[0]}/stream`)).text()).toContain('"passed":true');
    expect(await idOf(await post(body, "", gate))).toBe(ids[0]);
  });

  it("returns the values and the stream again to a client that lost them, for some time after the end", async () => {
    const key = crypto.randomUUID();
    const body = { assistant_id: "counter", input: { value: 1 } };
    expect(await (await post(body, "/wait", key)).json()).toEqual({ value: 2 });
    const again = await post(body, "/wait", key);
    expect(await again.json()).toEqual({ value: 2 });
    const streamKey = crypto.randomUUID();
    const streamed = await readEvents(await post(body, "/stream", streamKey));
    expect(streamed.length).toBeGreaterThan(1);
    expect(await readEvents(await post(body, "/stream", streamKey))).toEqual(streamed);
    await server.close();
    server = await server.restart();
    expect(await (await post(body, "/wait", key)).json()).toEqual({ value: 2 });
    expect(await readEvents(await post(body, "/stream", streamKey))).toEqual(streamed);
  });

  it("never leads to a thread that was named over OpenAI's API, or to a run of a batch", async () => {
    const threadOf = async (response: Response): Promise<string> =>
      z.object({ thread_id: z.string() }).parse(await response.json()).thread_id;
    const body = { assistant_id: "counter", input: { value: 1 }, on_completion: "keep" };
    const name = crypto.randomUUID().replaceAll("-", "");
    const chat = { model: "talker", messages: [{ role: "user", content: "Hello" }] };
    const named = await server.send("POST", "/v1/chat/completions", chat, { "x-thread-id": name });
    expect(await threadOf(await post(body, "", `thread:${name}`))).not.toBe(named.headers.get("x-thread-id"));
    const batch = await server.send("POST", "/runs/batch", [body], { "idempotency-key": name });
    const [first] = z.array(z.object({ thread_id: z.string() })).parse(await batch.json());
    expect(await threadOf(await post(body, "", `${name}#0`))).not.toBe(first?.thread_id);
  });

  it("is refused with another request, which leaves the first run unchanged", async () => {
    const key = crypto.randomUUID();
    const run = await idOf(await post({ assistant_id: "counter", input: { value: 1 } }, "", key));
    const other = await post({ assistant_id: "counter", input: { value: 2 } }, "", key);
    expect([other.status, await other.text()]).toEqual([422, expect.stringContaining(key)]);
    expect(await (await server.send("GET", `/runs/${run}/stream`)).text()).toContain('"value":2');
    const unknown = { assistant_id: "unknown", input: {} };
    const before = await server.client.threads.count();
    expect((await post(unknown, "", crypto.randomUUID())).status).toBe(404);
    expect(await server.client.threads.count()).toBe(before);
  });
});

it("an admitted run is returned even if its queue position cannot be read", async () => {
  const threadId = await newThread();
  vi.spyOn(Runs.prototype, "placeOf").mockRejectedValue(new Error("The database is away."));
  const response = await server.send("POST", `/threads/${threadId}/runs`, { assistant_id: "counter", input: {} });
  expect([response.status, response.headers.get("x-queue-position")]).toEqual([200, null]);
  const runs = await server.client.runs.list(threadId);
  expect(runs.map(({ run_id }) => run_id)).toEqual([await idOf(response)]);
});

describe("a full queue", () => {
  it("answers 429 with Retry-After, shows the place of a run, and accepts runs again later", async () => {
    const threadId = await newThread();
    const body = { assistant_id: "gated", input: { gate: threadId }, multitask_strategy: "enqueue" };
    const running = await server.send("POST", `/threads/${threadId}/runs`, body);
    const first = await idOf(running);
    await expect.poll(async () => (await server.client.runs.get(threadId, first)).status).toBe("running");
    const queued = [];
    for (const position of [1, 2, 3]) {
      const response = await server.send("POST", `/threads/${threadId}/runs`, body);
      expect(response.headers.get("x-queue-position")).toBe(String(position));
      queued.push(await idOf(response));
    }
    const refused = await server.send("POST", `/threads/${threadId}/runs`, body);
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "1"]);
    const seen = await server.send("GET", `/threads/${threadId}/runs/${queued[1]}`);
    expect(seen.headers.get("x-queue-position")).toBe("2");
    openGate(threadId);
    await server.client.runs.join(threadId, queued[2] ?? "");
    expect((await server.client.runs.list(threadId)).map((run) => run.status)).toEqual(
      Array.from({ length: 4 }, () => "success"),
    );
  });

  it("POST /threads/:thread_id/runs/:run_id/cancel 409: a run that is to be cancelled while it waits has begun", async () => {
    const threadId = await newThread();
    const body = { assistant_id: "gated", input: { gate: threadId }, multitask_strategy: "enqueue" };
    const post = async (): Promise<string> => await idOf(await server.send("POST", `/threads/${threadId}/runs`, body));
    const cancel = async (id: string, wait: number): Promise<[number, string]> => {
      const place = `/threads/${threadId}/runs/${id}/cancel?status=pending&wait=${wait}`;
      const response = await server.send("POST", place);
      return [response.status, await response.text()];
    };
    const refused = [409, "The run does not wait: it has begun, is over, or is being cancelled."];
    const [first, second, third] = [await post(), await post(), await post()];
    await expect.poll(async () => (await server.client.runs.get(threadId, first)).status).toBe("running");
    expect(await cancel(first, 1)).toEqual(refused);
    expect(await cancel(second, 0)).toEqual([202, ""]);
    expect(await cancel(second, 1)).toEqual(refused);
    expect(await cancel(third, 1)).toEqual([204, ""]);
    openGate(threadId);
    await server.client.runs.join(threadId, first);
    expect(await cancel(first, 1)).toEqual(refused);
    const statuses = (await server.client.runs.list(threadId)).map(({ status }) => status);
    expect(statuses).toEqual(["interrupted", "interrupted", "success"]);
  });

  it("is cleared behind a cancelled run when that is requested", async () => {
    const threadId = await newThread();
    const body = { assistant_id: "gated", input: { gate: threadId }, multitask_strategy: "enqueue" };
    const first = await idOf(await server.send("POST", `/threads/${threadId}/runs`, body));
    await server.send("POST", `/threads/${threadId}/runs`, body);
    const response = await server.send("POST", `/threads/${threadId}/runs/${first}/cancel?wait=1&queue=clear`);
    expect(response.status).toBe(204);
    expect((await server.client.runs.list(threadId)).map((run) => run.status)).toEqual(["interrupted", "interrupted"]);
  });
});

describe("a reader that reconnects", () => {
  it("with an unknown event id receives a gap event, then all events that exist", async () => {
    const threadId = await newThread();
    const whole = await readEvents(
      await server.send("POST", `/threads/${threadId}/runs/stream`, { assistant_id: "counter", input: { value: 1 } }),
    );
    const [run] = await server.client.runs.list(threadId);
    const events = await readEvents(await join(threadId, run?.run_id ?? "", 70));
    expect(events[0]).toMatchObject({ event: "gap", data: { from: 3, to: 70 } });
    expect(events[0]?.id).toBeUndefined();
    expect(events.slice(1)).toEqual(whole);
    expect(await readEvents(await join(threadId, run?.run_id ?? "", 2))).toEqual([]);
  });
});

describe("a slow reader", () => {
  /** Starts a run over a connection that is not read until `read` is called. */
  async function stall(threadId: string, body: object): Promise<{ read: () => ReturnType<typeof readText> }> {
    const sent = httpRequest(`${server.url}/threads/${threadId}/runs/stream`, {
      method: "POST",
      headers: { "content-type": "application/json" },
    });
    sent.end(JSON.stringify(body));
    // The first argument of a request's "response" event is the response.
    const [response] = (await once(sent, "response")) as [IncomingMessage];
    return { read: () => readText(response) };
  }

  it("is not a reader that keeps up, even if megabytes are still in flight", async () => {
    const threadId = await newThread();
    const body = { assistant_id: "flood", input: { events: 12, size: 500_000 }, stream_mode: ["custom"] };
    const events = await readEvents(await server.send("POST", `/threads/${threadId}/runs/stream`, body));
    expect(idsOf(events)).toEqual(Array.from({ length: 13 }, (_, id) => String(id)));
  });

  it("is disconnected when it is too far behind, the run goes on, and it gets the rest after a reconnect", async () => {
    const threadId = await newThread();
    const input = { events: 2000, size: 20_000, gate: crypto.randomUUID() };
    const reader = await stall(threadId, {
      assistant_id: "flood",
      input,
      stream_mode: ["custom"],
      on_disconnect: "cancel",
    });
    const [run] = await server.client.runs.list(threadId);
    const runId = run?.run_id ?? "";
    for await (const { id } of eventsOf(await join(threadId, runId, -1))) if (id === String(input.events / 2)) break;
    showLater(3_000);
    openGate(input.gate);
    await server.client.runs.join(threadId, runId);
    expect(await server.client.runs.get(threadId, runId)).toMatchObject({ status: "success" });
    const { text, isWhole } = await reader.read();
    // Otherwise the client takes it for the end of the run.
    expect(isWhole).toBe(false);
    expect(text.endsWith(": cut off, too far behind; resume with Last-Event-ID\n")).toBe(true);
    const seen = await readEvents(new Response(text));
    expect(seen.length).toBeLessThan(input.events);
    const rest = await readEvents(await join(threadId, runId, Number(seen.at(-1)?.id)));
    expect(idsOf([...seen, ...rest])).toEqual(Array.from({ length: input.events + 1 }, (_, id) => String(id)));
  });
});
