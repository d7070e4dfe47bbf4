import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { creates, eventsOf, say, startChatServer, textOf, type ChatServer } from "./chat-server.ts";

let chat: ChatServer;
beforeEach(async () => {
  chat = await startChatServer();
});
afterEach(() => chat.close());

describe("POST /api/ai/chat", () => {
  it("answers with the whole reply, what it took, the model and the time", async () => {
    chat.model.push(creates("one"), { text: "It is there." });
    const response = await chat.server.send("POST", "/api/ai/chat", { ...say("Create the task one"), max_tokens: 500 });
    expect(response.status).toBe(200);
    const answer = z.record(z.string(), z.unknown()).parse(await response.json());
    expect(Object.keys(answer).toSorted()).toEqual(["model", "reply", "response_time_ms", "usage"]);
    expect(answer).toMatchObject({ reply: "It is there.", model: "openai:scripted" });
    expect(answer["response_time_ms"]).toBeGreaterThan(0);
    const usage = z.record(z.string(), z.number()).parse(answer["usage"]);
    expect(usage["total_tokens"]).toBe((usage["prompt_tokens"] ?? 0) + (usage["completion_tokens"] ?? 0));
    expect(usage["total_tokens"]).toBeGreaterThan(0);
    expect(await chat.titles()).toEqual(["one"]);
  });

  it("answers with the question where one waits", async () => {
    chat.model.push({
      toolCalls: [{ name: "ask_followup_question", arguments: { question: "Which day is it for?" } }],
    });
    const response = await chat.server.send("POST", "/api/ai/chat", say("Create a task"));
    expect(z.looseObject({ reply: z.string() }).parse(await response.json()).reply).toBe("Which day is it for?");
    chat.model.push({ text: "Then for Monday." });
    const thread_id = response.headers.get("x-thread-id");
    const next = await chat.server.send("POST", "/api/ai/chat", say("Monday", { thread_id }));
    expect(await next.json()).toMatchObject({ reply: "Then for Monday." });
    expect(JSON.stringify(chat.model.requests.at(-1)?.messages)).toContain("The user answered: Monday");
  });

  it("answers a failure with its status", async () => {
    chat.model.push({ fault: { kind: "status", status: 401 } });
    const body = say("Tell me a joke", { context: { on_error: "fail" } });
    const response = await chat.server.send("POST", "/api/ai/chat", body, { accept: "application/json" });
    expect([response.status, await response.json()]).toMatchObject([401, { errorType: "auth", recoverable: false }]);
  });

  it("gives the same answer again under one key", async () => {
    chat.model.push({ text: "Once." });
    const send = async () =>
      (await chat.server.send("POST", "/api/ai/chat", say("Tell me a joke"), { "idempotency-key": "k" })).json();
    expect(await send()).toMatchObject({ reply: "Once." });
    expect(await send()).toMatchObject({ reply: "Once." });
    chat.model.assertFinished();
  });

  it.each([
    [{ messages: [] }, 400],
    [{ messages: [{ role: "robot", text: "x" }] }, 400],
    [{ messages: [{ role: "user" }] }, 400],
    [{ messages: [{ role: "assistant", text: "x" }] }, 400],
    [say("x", { max_tokens: 0 }), 400],
    [say("x", { stream: true }), 400],
    [say("x", { thread_id: "6d0f9d0c-0b0a-4908-8706-050403020100" }), 404],
    [say("x", { assistant_id: "missing" }), 404],
  ])("refuses %j with %i, and leaves nothing behind", async (body, status) => {
    expect((await chat.server.send("POST", "/api/ai/chat", body)).status).toBe(status);
    expect(await chat.server.client.threads.search()).toEqual([]);
  });
});

describe("a client that disconnects before the answer", () => {
  /** How the run of a client ends that leaves in the midst of its answer. */
  async function endAfterLeaving(path: string, more: object): Promise<string> {
    const { promise: said, resolve: sayOn } = Promise.withResolvers<void>();
    chat.model.push({ text: "A long answer in many words.", hold: { after: 2, until: said } });
    const leaving = new AbortController();
    const { thread_id } = await chat.server.client.threads.create();
    const sent = fetch(`${chat.server.url}${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(say("Tell me a joke", { thread_id, ...more })),
      signal: leaving.signal,
    }).then(
      (response) => response.text(),
      () => undefined,
    );
    await expect.poll(() => chat.model.requestCount).toBe(1);
    leaving.abort();
    await sent.catch(() => undefined);
    if (!("on_disconnect" in more)) sayOn();
    const ended = async () => (await chat.server.client.runs.list(thread_id))[0]?.status;
    await expect.poll(ended, { timeout: 10_000 }).not.toMatch(/pending|running/u);
    sayOn();
    return (await ended()) ?? "";
  }

  it.each(["/api/ai/chat/stream", "/api/ai/chat"])("loses nothing by %s: the run goes on", async (path) => {
    expect(await endAfterLeaving(path, {})).toBe("success");
  });

  it.each(["/api/ai/chat/stream", "/api/ai/chat"])("ends the run of %s where it says so", async (path) => {
    expect(await endAfterLeaving(path, { on_disconnect: "cancel" })).toBe("interrupted");
  });

  it("waits for the run in progress, and its response names its place in the queue", async () => {
    const { promise: said, resolve: sayOn } = Promise.withResolvers<void>();
    chat.model.push({ text: "The first answer.", hold: { after: 1, until: said } }, { text: "The second answer." });
    const { thread_id } = await chat.server.client.threads.create();
    const first = chat.stream(say("Tell me a joke", { thread_id }));
    await expect.poll(() => chat.model.requestCount).toBe(1);
    const second = await chat.stream(say("And another", { thread_id }));
    expect(second.headers.get("x-queue-position")).toBe("1");
    sayOn();
    expect(textOf(await eventsOf(await first))).toBe("The first answer.");
    expect(textOf(await eventsOf(second))).toBe("The second answer.");
  });
});
