import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { startModelServer, type ModelServer, type ModelStep } from "@millrace/testing/model-server";
import { eventsOf as eachOf, readEvents } from "@millrace/testing/read-events";
import { projectFolder } from "../../../tests/support/source-files.ts";
import { startTestServer, type TestServer } from "../../../tests/support/test-server.ts";

let model: ModelServer;
let server: TestServer;
beforeEach(async () => {
  model = await startModelServer({ script: [] });
  server = await startTestServer({
    graphs: join(projectFolder, "langgraph.json"),
    model: "openai:scripted",
    openai: { apiKey: "test-key", baseUrl: model.url },
  });
});
afterEach(async () => {
  await server.remove();
  await model.close();
});

const Item = z.looseObject({ type: z.string(), content: z.string().default("") });

interface ChatEvent {
  event: string;
  id: string | undefined;
  data: z.infer<typeof Item>;
}

/** Every event of a stream, to its end. */
async function eventsOf(response: Response): Promise<ChatEvent[]> {
  const events = await readEvents(response);
  return events.map(({ event = "message", id, data }) => ({ event, id, data: Item.parse(data) }));
}

const stream = (body: object, headers: Record<string, string> = {}) =>
  server.send("POST", "/api/ai/chat/stream", body, headers);
const say = (text: string, more: object = {}) => ({ messages: [{ role: "user", text }], ...more });
const textOf = (events: readonly ChatEvent[]): string =>
  events.flatMap(({ event, data }) => (event === "message" ? [data.content] : [])).join("");
const creates = (...titles: string[]): ModelStep => ({
  toolCalls: titles.map((title) => ({ name: "create_task", arguments: { title } })),
});
const lastSystem = (): string => {
  const first = model.requests.at(-1)?.messages[0];
  return first?.role === "system" ? String(first.content) : "";
};
const titles = async (): Promise<string[]> =>
  z
    .object({ data: z.array(z.looseObject({ title: z.string() })) })
    .parse(await (await server.send("GET", "/api/views/staging/tasks")).json())
    .data.map(({ title }) => title);

describe("POST /api/ai/chat/stream", () => {
  it("sends text as message events of the form {type, content}, and ends with done", async () => {
    model.push({ text: "Good morning to you." });
    const body = { ...say("Tell me a joke"), system: "Be brief.", max_tokens: 2000, stream: true };
    const response = await stream(body);
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    const events = await eventsOf(response);
    expect(textOf(events)).toBe("Good morning to you.");
    expect(new Set(events.map(({ event }) => event))).toEqual(new Set(["message", "done"]));
    for (const { event, data } of events.slice(0, -1)) {
      expect([event, data]).toEqual(["message", { type: "text", content: expect.any(String) }]);
    }
    expect(events.at(-1)).toMatchObject({ event: "done", data: { type: "done" } });
    expect(model.requests.at(-1)?.body).toMatchObject({ max_tokens: 2000 });
    expect(lastSystem()).toContain("Be brief.");
    expect(lastSystem()).not.toContain("You manage tasks");
  });

  it("creates several tasks one by one, with a card for each and a last sentence", async () => {
    model.push(creates("one", "two", "three"), { text: "I have created 3 tasks." });
    const events = await eventsOf(await stream(say("Create 3 tasks: one, two and three")));
    const cards = events.filter(({ event }) => event === "tool").map(({ data }) => data);
    for (const title of ["one", "two", "three"]) {
      const begun = cards.find(({ status, params }) => status === "running" && JSON.stringify(params).includes(title));
      expect(begun).toMatchObject({ type: "tool", name: "create_task", params: { title } });
      const ended = cards.find(({ id, status }) => id === begun?.["id"] && status === "success");
      expect(ended).toMatchObject({ name: "create_task", message: `Task created: "${title}".` });
    }
    expect(cards).toHaveLength(6);
    expect(textOf(events)).toContain("I have created 3 tasks.");
    expect(events.at(-1)?.event).toBe("done");
    expect(await titles()).toEqual(["one", "two", "three"]);
    expect(lastSystem()).toContain("You manage tasks");
  });

  it("is not done where the server stops in the middle, and can be followed again after the restart", async () => {
    await server.close();
    server = await server.restart({ drainSeconds: 0.1 });
    const held = Promise.withResolvers<void>();
    model.push({ text: "Good morning to you.", hold: { after: 1, until: held.promise } }, { text: "Good evening." });
    const response = await stream(say("Tell me a joke"));
    const again = response.headers.get("location") ?? "";
    const events: string[] = [];
    const read = async (): Promise<void> => {
      for await (const { event = "message" } of eachOf(response)) {
        events.push(event);
        if (events.length === 1) void server.close();
      }
    };
    await expect(read()).rejects.toThrow("terminated");
    expect(events).not.toContain("done");
    await server.close();
    held.resolve();
    server = await server.restart();
    const rest = await eventsOf(await server.send("GET", again));
    expect(rest.at(-1)?.event).toBe("done");
  });

  it("leaves calls in the text if the client describes its own tools", async () => {
    const call =
      '<tool_use>\n<invoke name="create_task">\n<parameter name="title">one</parameter>\n</invoke>\n</tool_use>';
    model.push({ text: `I will create it.\n\n${call}` });
    const system = `You manage tasks. To act, write:\n${call}`;
    const events = await eventsOf(await stream({ ...say("Create the task one"), system }));
    expect(textOf(events)).toBe(`I will create it.\n\n${call}`);
    expect(events.filter(({ event }) => event === "tool")).toEqual([]);
    expect(model.requests.at(-1)?.toolNames).toEqual([]);
    expect(lastSystem()).toContain(system);
    expect(await titles()).toEqual([]);
  });

  it("leaves them there also when they come from a model that has no other calls", async () => {
    await server.close();
    server = await server.restart({ ollamaBaseUrl: model.ollamaUrl });
    const call =
      '<tool_use>\n<invoke name="create_task">\n<parameter name="title">one</parameter>\n</invoke>\n</tool_use>';
    model.push({ text: `I will create it.\n\n${call}` });
    const body = {
      ...say("Create the task one"),
      system: `To act, write:\n${call}`,
      model: "ollama:deepseek-coder:6.7b",
    };
    expect(textOf(await eventsOf(await stream(body)))).toBe(`I will create it.\n\n${call}`);
    expect(await titles()).toEqual([]);
  });

  it("lets a model write its calls as text where the run wants that, and carries them out", async () => {
    const call =
      '<tool_use>\n<invoke name="create_task">\n<parameter name="title">one</parameter>\n</invoke>\n</tool_use>';
    model.push({ text: `I will create it.\n${call}` }, { text: "It is there." });
    const events = await eventsOf(await stream(say("Create the task one", { context: { tool_protocol: "text" } })));
    expect(model.requests.at(0)?.toolNames).toEqual([]);
    expect(lastSystem()).toContain("<tool_use>");
    expect(textOf(events)).toBe("I will create it.\n\nIt is there.");
    expect(await titles()).toEqual(["one"]);
  });

  it("knows the day, the area and the user's name", async () => {
    model.push({ text: "Hello Ada." });
    const area = "0f0e0d0c-0b0a-4908-8706-050403020100";
    await eventsOf(
      await stream(say("Tell me a joke", { context: { user_name: "Ada", view_context: `area::${area}` } })),
    );
    expect(lastSystem()).toContain("The user's name: Ada");
    expect(lastSystem()).toContain(`Current area: ${area}`);
    expect(lastSystem()).toMatch(/Today: \d{4}-\d{2}-\d{2}/u);
  });

  it("begins a conversation with all messages, and goes on with one that it is named", async () => {
    model.push({ text: "Green." }, { text: "Because you said so." });
    const messages = [
      { role: "user", text: "Which colour?" },
      { role: "assistant", text: "Any." },
      { role: "user", text: "Then which do you take?" },
    ];
    const first = await stream({ messages });
    const thread_id = first.headers.get("x-thread-id");
    await eventsOf(first);
    const all = [...messages, { role: "assistant", text: "Green." }, { role: "user", text: "Why?" }];
    const second = await stream({ messages: all, thread_id });
    expect(second.headers.get("x-thread-id")).toBe(thread_id);
    await eventsOf(second);
    const sent = model.requests.at(-1)?.messages.filter(({ role }) => role !== "system") ?? [];
    expect(sent.map(({ role, content }) => [role, content])).toEqual(
      all.map(({ role, text }) => [role, expect.stringContaining(text)]),
    );
  });

  it("asks before a deletion if configured, and accepts an approval in words", async () => {
    await server.close();
    server = await server.restart({ confirmTasks: true });
    const { data } = z
      .object({ data: z.looseObject({ id: z.string() }) })
      .parse(await (await server.send("POST", "/api/tasks", { title: "old" })).json());
    model.push({ toolCalls: [{ name: "delete_task", arguments: { task_id: data.id } }] });
    const first = await stream(say("Delete the task old"), { "accept-language": "zh" });
    const thread_id = first.headers.get("x-thread-id");
    const events = await eventsOf(first);
    const question = events.find(({ event }) => event === "question")?.data;
    expect(question).toMatchObject({ kind: "confirmation", tool: "delete_task", params: { task_id: data.id } });
    expect(question?.["question"]).toContain("删除任务“old”");
    expect(textOf(events)).toContain("删除任务“old”");
    expect(events.at(-1)?.event).toBe("done");
    expect(await titles()).toEqual(["old"]);

    model.push({ text: "The task is gone." });
    const answered = await eventsOf(await stream(say("允许", { thread_id })));
    expect(answered.find(({ data: { status } }) => status === "success")?.data).toMatchObject({ name: "delete_task" });
    expect(textOf(answered)).toContain("The task is gone.");
    expect(await titles()).toEqual([]);
  });

  it("can be read again from an event on", async () => {
    model.push(creates("one"), { text: "It is there, and a few words more." });
    const first = await stream(say("Create the task one"));
    const location = first.headers.get("location") ?? "";
    const events = await eventsOf(first);
    const middle = events.findIndex(({ event }) => event === "tool");
    const again = await server.send("GET", location, undefined, { "last-event-id": events[middle]?.id ?? "" });
    expect(await eventsOf(again)).toEqual(events.slice(middle + 1));
  });

  it("sends a failure with its type and message, and ends without done", async () => {
    model.push({ fault: { kind: "status", status: 401 } });
    const events = await eventsOf(await stream(say("Tell me a joke", { context: { on_error: "fail" } })));
    expect(events.at(-1)).toMatchObject({ event: "error", data: { type: "error", errorType: "auth" } });
    expect(events.at(-1)?.data["message"]).toEqual(expect.stringMatching(/.+/u));
  });
});

describe("a client that disconnects before the answer", () => {
  /** How the run of a client ends that leaves in the midst of its answer. */
  async function endAfterLeaving(path: string, more: object): Promise<string> {
    const { promise: said, resolve: sayOn } = Promise.withResolvers<void>();
    model.push({ text: "A long answer in many words.", hold: { after: 2, until: said } });
    const leaving = new AbortController();
    const { thread_id } = await server.client.threads.create();
    const sent = fetch(`${server.url}${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(say("Tell me a joke", { thread_id, ...more })),
      signal: leaving.signal,
    }).then(
      (response) => response.text(),
      () => undefined,
    );
    await expect.poll(() => model.requestCount).toBe(1);
    leaving.abort();
    await sent.catch(() => undefined);
    if (!("on_disconnect" in more)) sayOn();
    const ended = async () => (await server.client.runs.list(thread_id))[0]?.status;
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
    model.push({ text: "The first answer.", hold: { after: 1, until: said } }, { text: "The second answer." });
    const { thread_id } = await server.client.threads.create();
    const first = stream(say("Tell me a joke", { thread_id }));
    await expect.poll(() => model.requestCount).toBe(1);
    const second = await stream(say("And another", { thread_id }));
    expect(second.headers.get("x-queue-position")).toBe("1");
    sayOn();
    expect(textOf(await eventsOf(await first))).toBe("The first answer.");
    expect(textOf(await eventsOf(second))).toBe("The second answer.");
  });
});

describe("POST /api/ai/chat", () => {
  it("answers with the whole reply, what it took, the model and the time", async () => {
    model.push(creates("one"), { text: "It is there." });
    const response = await server.send("POST", "/api/ai/chat", { ...say("Create the task one"), max_tokens: 500 });
    expect(response.status).toBe(200);
    const answer = z.record(z.string(), z.unknown()).parse(await response.json());
    expect(Object.keys(answer).toSorted()).toEqual(["model", "reply", "response_time_ms", "usage"]);
    expect(answer).toMatchObject({ reply: "It is there.", model: "openai:scripted" });
    expect(answer["response_time_ms"]).toBeGreaterThan(0);
    const usage = z.record(z.string(), z.number()).parse(answer["usage"]);
    expect(usage["total_tokens"]).toBe((usage["prompt_tokens"] ?? 0) + (usage["completion_tokens"] ?? 0));
    expect(usage["total_tokens"]).toBeGreaterThan(0);
    expect(await titles()).toEqual(["one"]);
  });

  it("answers with the question where one waits", async () => {
    model.push({ toolCalls: [{ name: "ask_followup_question", arguments: { question: "Which day is it for?" } }] });
    const response = await server.send("POST", "/api/ai/chat", say("Create a task"));
    expect(z.looseObject({ reply: z.string() }).parse(await response.json()).reply).toBe("Which day is it for?");
    model.push({ text: "Then for Monday." });
    const thread_id = response.headers.get("x-thread-id");
    const next = await server.send("POST", "/api/ai/chat", say("Monday", { thread_id }));
    expect(await next.json()).toMatchObject({ reply: "Then for Monday." });
    expect(JSON.stringify(model.requests.at(-1)?.messages)).toContain("The user answered: Monday");
  });

  it("answers a failure with its status", async () => {
    model.push({ fault: { kind: "status", status: 401 } });
    const body = say("Tell me a joke", { context: { on_error: "fail" } });
    const response = await server.send("POST", "/api/ai/chat", body, { accept: "application/json" });
    expect([response.status, await response.json()]).toMatchObject([401, { errorType: "auth", recoverable: false }]);
  });

  it("gives the same answer again under one key", async () => {
    model.push({ text: "Once." });
    const send = async () =>
      (await server.send("POST", "/api/ai/chat", say("Tell me a joke"), { "idempotency-key": "k" })).json();
    expect(await send()).toMatchObject({ reply: "Once." });
    expect(await send()).toMatchObject({ reply: "Once." });
    model.assertFinished();
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
    expect((await server.send("POST", "/api/ai/chat", body)).status).toBe(status);
    expect(await server.client.threads.search()).toEqual([]);
  });
});
