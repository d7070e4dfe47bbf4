import { connect } from "node:net";
import { text as textOf } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { eventsOf, readEvents, type ReadEvent } from "@millrace/testing/read-events";
import { openGate } from "../../support/test-graphs.ts";
import { packagesOfGraphs, startTestServer, type TestServer } from "../../support/test-server.ts";

describe.each(packagesOfGraphs)("of a graph with %s", (packages) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startTestServer({}, undefined, packages);
  });
  afterAll(() => server.remove());

  const newThread = async (): Promise<string> => (await server.client.threads.create()).thread_id;
  const hi = { messages: [{ role: "user", content: "hi" }] };
  const names = (events: ReadEvent[]): (string | undefined)[] => events.map((event) => event.event);

  function stream(threadId: string, assistant: string, body: object): Promise<Response> {
    return server.send("POST", `/threads/${threadId}/runs/stream`, { assistant_id: assistant, ...body });
  }

  /** The run's id in the first event. */
  function runOf(events: ReadEvent[]): string {
    return z.object({ run_id: z.string() }).parse(events[0]?.data).run_id;
  }

  function join(threadId: string, runId: string, lastEventId?: number, query = ""): Promise<Response> {
    const headers: Record<string, string> = lastEventId === undefined ? {} : { "last-event-id": String(lastEventId) };
    return server.send("GET", `/threads/${threadId}/runs/${runId}/stream${query}`, undefined, headers);
  }

  test("a stream begins with metadata, has ids from 0 on, and ends with the last data", async () => {
    const threadId = await newThread();
    const response = await stream(threadId, "counter", { input: { value: 1 } });
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    const events = await readEvents(response);
    expect(names(events)).toEqual(["metadata", "values", "values"]);
    expect(events.map((event) => event.id)).toEqual(["0", "1", "2"]);
    expect(events.at(-1)?.data).toEqual({ value: 2 });
    const runId = runOf(events);
    expect(response.headers.get("content-location")).toBe(`/threads/${threadId}/runs/${runId}`);
    expect(response.headers.get("location")).toBe(`/threads/${threadId}/runs/${runId}/stream`);
  });

  test("the run's end is stored before its stream closes", async () => {
    const threadId = await newThread();
    const events = await readEvents(await stream(threadId, "counter", { input: {} }));
    const runId = runOf(events);
    expect(await server.client.runs.get(threadId, runId)).toMatchObject({ status: "success" });
  });

  test("a HEAD request does not wait for the run's end", { timeout: 4_000 }, async () => {
    const threadId = await newThread();
    const { run_id } = await server.client.runs.create(threadId, "gated", { input: { gate: crypto.randomUUID() } });
    for (const rest of ["stream", "join"]) {
      const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
      socket.write(
        `HEAD /threads/${threadId}/runs/${run_id}/${rest} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n`,
      );
      expect(await textOf(socket)).toMatch(/^HTTP\/1.1 200 OK\r\n[^]*content-location: [^]*\r\n\r\n$/u);
    }
    await server.client.runs.cancel(threadId, run_id, true);
  });

  test("the client reads tokens, updates and values", async () => {
    const threadId = await newThread();
    const events = [];
    let text = "";
    for await (const event of server.client.runs.stream(threadId, "talker", {
      input: hi,
      streamMode: ["messages-tuple", "updates", "values"],
    })) {
      events.push(event.event);
      if (event.event === "messages") text += z.string().parse(event.data[0].content);
    }
    expect(text).toBe("Hello there");
    expect(new Set(events)).toEqual(new Set(["metadata", "messages", "updates", "values"]));
  });

  test("the older messages mode sends the whole message so far", async () => {
    const threadId = await newThread();
    const events = await readEvents(await stream(threadId, "talker", { input: hi, stream_mode: "messages" }));
    const partials = events.filter((event) => event.event === "messages/partial");
    expect(partials.at(-1)?.data).toMatchObject([{ type: "ai", content: "Hello there" }]);
    expect(partials.length).toBeGreaterThan(5);
    expect(events.at(-1)).toMatchObject({ event: "messages/complete", data: [{ type: "ai", content: "Hello there" }] });
    expect(new Set(names(events))).toEqual(
      new Set(["metadata", "messages/metadata", "messages/partial", "messages/complete"]),
    );
  });

  test.each(["debug", "tasks", "checkpoints", "custom", "updates"] as const)(
    "mode %s gives only its own events",
    async (mode) => {
      const threadId = await newThread();
      openGate("open");
      const events = await readEvents(await stream(threadId, "gated", { input: { gate: "open" }, stream_mode: mode }));
      expect(new Set(names(events))).toEqual(new Set(["metadata", mode]));
    },
  );

  test("a subgraph's events have its namespace if requested", async () => {
    const body = { input: hi, stream_mode: ["updates", "custom"], stream_subgraphs: true };
    const events = await readEvents(await stream(await newThread(), "nested", body));
    expect(names(events)).toEqual([
      "metadata",
      expect.stringMatching(/^custom\|inside:/),
      expect.stringMatching(/^updates\|inside:/),
      "updates",
    ]);
    const flat = await readEvents(await stream(await newThread(), "nested", { ...body, stream_subgraphs: false }));
    expect(names(flat)).toEqual(["metadata", "custom", "updates"]);
  });

  test("a failing run ends its stream with the error", async () => {
    const events = await readEvents(await stream(await newThread(), "failing", { input: {} }));
    expect(events.at(-1)).toMatchObject({ event: "error", data: { error: "RangeError", message: "out of luck" } });
  });

  test.each([
    [25, {}],
    [40, { config: { recursion_limit: 40 } }],
  ])("a graph without an end is stopped after %i steps: LangGraph's own limit, or the run's", async (steps, body) => {
    const events = await readEvents(
      await stream(await newThread(), "looping", { input: { value: 0 }, stream_mode: "updates", ...body }),
    );
    expect(names(events)).toEqual(["metadata", ...Array.from({ length: steps }, () => "updates"), "error"]);
    expect(events.at(-1)?.data).toMatchObject({ error: "GraphRecursionError" });
  });

  test("an interrupt ends the stream with its question", async () => {
    const events = await readEvents(await stream(await newThread(), "asker", { input: {}, stream_mode: "updates" }));
    expect(events.at(-1)?.data).toMatchObject({ __interrupt__: [{ value: { question: "Go on?" } }] });
  });

  test("two concurrent readers of a run and a late one each receive everything", async () => {
    const threadId = await newThread();
    const gate = crypto.randomUUID();
    const response = await stream(threadId, "gated", { input: { gate }, stream_mode: ["custom", "values"] });
    const runId = response.headers.get("content-location")?.split("/").at(-1) ?? "";
    const joined = await join(threadId, runId);
    openGate(gate);
    const [first, second] = await Promise.all([readEvents(response), readEvents(joined)]);
    expect(second).toEqual(first);
    expect(first.map((event) => event.id)).toEqual(first.map((_, index) => String(index)));
    expect(await readEvents(await join(threadId, runId, -1))).toEqual(first);
  });

  test("a reader that reconnects receives the missed events, with the same ids", async () => {
    const threadId = await newThread();
    const whole = await readEvents(
      await stream(threadId, "talker", { input: hi, stream_mode: ["messages", "values"] }),
    );
    const runId = runOf(whole);
    for (const last of [0, 3, 7, whole.length - 1]) {
      expect(await readEvents(await join(threadId, runId, last))).toEqual(whole.slice(last + 1));
    }
  });

  test("a reader can select some of the modes", async () => {
    const threadId = await newThread();
    const whole = await readEvents(
      await stream(threadId, "talker", { input: hi, stream_mode: ["messages-tuple", "values"] }),
    );
    const runId = runOf(whole);
    const some = await readEvents(await join(threadId, runId, -1, "?stream_mode=values"));
    expect(some).toEqual(whole.filter((event) => event.event !== "messages"));
  });

  test("the official client joins a run's stream", async () => {
    const threadId = await newThread();
    const run = await server.client.runs.create(threadId, "counter", { input: { value: 1 }, streamResumable: true });
    const events = await Array.fromAsync(server.client.runs.joinStream(threadId, run.run_id, { lastEventId: "-1" }));
    expect(events.at(-1)).toMatchObject({ event: "values", data: { value: 2 } });
  });

  test("a reader that disconnects does not end the run", async () => {
    const threadId = await newThread();
    const gate = crypto.randomUUID();
    const response = await stream(threadId, "gated", { input: { gate }, stream_mode: "custom" });
    const runId = response.headers.get("content-location")?.split("/").at(-1) ?? "";
    for await (const event of eventsOf(response)) if (event.event === "custom") break;
    openGate(gate);
    expect(await server.client.runs.join(threadId, runId)).toMatchObject({ passed: true });
  });

  test.each([
    ["stream", "custom"],
    ["wait", "values"],
  ] as const)("a client of %s that disconnects ends the run with on_disconnect", async (kind, mode) => {
    const threadId = await newThread();
    const leaving = new AbortController();
    const body = { assistant_id: "gated", input: { gate: "never" }, on_disconnect: "cancel", stream_mode: mode };
    const request = fetch(`${server.url}/threads/${threadId}/runs/${kind}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
      signal: leaving.signal,
    }).catch(() => undefined);
    await expect.poll(async () => (await server.client.runs.list(threadId))[0]?.status).toBe("running");
    const [run] = await server.client.runs.list(threadId);
    leaving.abort();
    await request;
    await server.client.runs.join(threadId, run?.run_id ?? "");
    expect(await server.client.runs.get(threadId, run?.run_id ?? "")).toMatchObject({ status: "interrupted" });
  });

  test("on_disconnect cancels the run also when a resumed stream disconnects", async () => {
    const threadId = await newThread();
    const body = { assistant_id: "gated", input: { gate: "never" }, on_disconnect: "cancel", stream_mode: "custom" };
    const first = await server.send("POST", `/threads/${threadId}/runs/stream`, body);
    const again = await server.send("GET", first.headers.get("location") ?? "");
    const [run] = await server.client.runs.list(threadId);
    for await (const event of eventsOf(again)) if (event.event === "custom") break;
    await server.client.runs.join(threadId, run?.run_id ?? "");
    expect(await server.client.runs.get(threadId, run?.run_id ?? "")).toMatchObject({ status: "interrupted" });
    expect((await readEvents(first)).at(-1)?.event).toBe("custom");
  });

  test("a stateless stream has no ids and can be joined", async () => {
    const gate = crypto.randomUUID();
    const body = { assistant_id: "gated", input: { gate }, stream_mode: "custom" };
    const response = await server.send("POST", "/runs/stream", body);
    const location = response.headers.get("content-location") ?? "";
    expect(location).toMatch(/^\/runs\/[0-9a-f-]{36}$/);
    expect(response.headers.has("location")).toBe(false);
    const joined = await server.send("GET", `${location}/stream`);
    openGate(gate);
    const [own, other] = await Promise.all([readEvents(response), readEvents(joined)]);
    expect(names(own)).toEqual(["metadata", "custom", "custom"]);
    expect(own.every((event) => event.id === undefined)).toBe(true);
    expect(other.map((event) => event.id)).toEqual(["0", "1", "2"]);
  });

  test("an ended stream is replayed after a restart of the server", async () => {
    const first = await startTestServer({}, undefined, packages);
    try {
      const { thread_id } = await first.client.threads.create();
      const path = `/threads/${thread_id}/runs/stream`;
      const whole = await readEvents(await first.send("POST", path, { assistant_id: "talker", input: hi }));
      const runId = runOf(whole);
      await first.close();
      const second = await first.restart();
      expect(await readEvents(await second.send("GET", `/threads/${thread_id}/runs/${runId}/stream`))).toEqual(whole);
      await second.close();
    } finally {
      await first.remove();
    }
  });
});
