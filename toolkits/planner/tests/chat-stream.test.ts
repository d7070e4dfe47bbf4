import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { eventsOf as eachOf } from "@millrace/testing/read-events";
import { creates, eventsOf, say, startChatServer, textOf, type ChatServer } from "./chat-server.ts";

let chat: ChatServer;
beforeEach(async () => {
  chat = await startChatServer();
});
afterEach(() => chat.close());

describe("POST /api/ai/chat/stream", () => {
  it("sends text as message events of the form {type, content}, and ends with done", async () => {
    chat.model.push({ text: "Good morning to you." });
    const body = { ...say("Tell me a joke"), system: "Be brief.", max_tokens: 2000, stream: true };
    const response = await chat.stream(body);
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    const events = await eventsOf(response);
    expect(textOf(events)).toBe("Good morning to you.");
    expect(new Set(events.map(({ event }) => event))).toEqual(new Set(["message", "done"]));
    for (const { event, data } of events.slice(0, -1)) {
      expect([event, data]).toEqual(["message", { type: "text", content: expect.any(String) }]);
    }
    expect(events.at(-1)).toMatchObject({ event: "done", data: { type: "done" } });
    expect(chat.model.requests.at(-1)?.body).toMatchObject({ max_tokens: 2000 });
    expect(chat.lastSystem()).toContain("Be brief.");
    expect(chat.lastSystem()).not.toContain("You manage tasks");
  });

  it("creates several tasks one by one, with a card for each and a last sentence", async () => {
    chat.model.push(creates("one", "two", "three"), { text: "I have created 3 tasks." });
    const events = await eventsOf(await chat.stream(say("Create 3 tasks: one, two and three")));
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
    expect(await chat.titles()).toEqual(["one", "two", "three"]);
    expect(chat.lastSystem()).toContain("You manage tasks");
  });

  it("is not done where the server stops in the middle, and can be followed again after the restart", async () => {
    await chat.server.close();
    chat.server = await chat.server.restart({ drainSeconds: 0.1 });
    const held = Promise.withResolvers<void>();
    chat.model.push(
      { text: "Good morning to you.", hold: { after: 1, until: held.promise } },
      { text: "Good evening." },
    );
    const response = await chat.stream(say("Tell me a joke"));
    const again = response.headers.get("location") ?? "";
    const events: string[] = [];
    const read = async (): Promise<void> => {
      for await (const { event = "message" } of eachOf(response)) {
        events.push(event);
        if (events.length === 1) void chat.server.close();
      }
    };
    await expect(read()).rejects.toThrow("terminated");
    expect(events).not.toContain("done");
    await chat.server.close();
    held.resolve();
    chat.server = await chat.server.restart();
    const rest = await eventsOf(await chat.server.send("GET", again));
    expect(rest.at(-1)?.event).toBe("done");
  });

  it("leaves calls in the text if the client describes its own tools", async () => {
    const call =
      '<tool_use>\n<invoke name="create_task">\n<parameter name="title">one</parameter>\n</invoke>\n</tool_use>';
    chat.model.push({ text: `I will create it.\n\n${call}` });
    const system = `You manage tasks. To act, write:\n${call}`;
    const events = await eventsOf(await chat.stream({ ...say("Create the task one"), system }));
    expect(textOf(events)).toBe(`I will create it.\n\n${call}`);
    expect(events.filter(({ event }) => event === "tool")).toEqual([]);
    expect(chat.model.requests.at(-1)?.toolNames).toEqual([]);
    expect(chat.lastSystem()).toContain(system);
    expect(await chat.titles()).toEqual([]);
  });

  it("leaves them there also when they come from a model that has no other calls", async () => {
    await chat.server.close();
    chat.server = await chat.server.restart({ ollamaBaseUrl: chat.model.ollamaUrl });
    const call =
      '<tool_use>\n<invoke name="create_task">\n<parameter name="title">one</parameter>\n</invoke>\n</tool_use>';
    chat.model.push({ text: `I will create it.\n\n${call}` });
    const body = {
      ...say("Create the task one"),
      system: `To act, write:\n${call}`,
      model: "ollama:deepseek-coder:6.7b",
    };
    expect(textOf(await eventsOf(await chat.stream(body)))).toBe(`I will create it.\n\n${call}`);
    expect(await chat.titles()).toEqual([]);
  });

  it("lets a model write its calls as text where the run wants that, and carries them out", async () => {
    const call =
      '<tool_use>\n<invoke name="create_task">\n<parameter name="title">one</parameter>\n</invoke>\n</tool_use>';
    chat.model.push({ text: `I will create it.\n${call}` }, { text: "It is there." });
    const events = await eventsOf(
      await chat.stream(say("Create the task one", { context: { tool_protocol: "text" } })),
    );
    expect(chat.model.requests.at(0)?.toolNames).toEqual([]);
    expect(chat.lastSystem()).toContain("<tool_use>");
    expect(textOf(events)).toBe("I will create it.\n\nIt is there.");
    expect(await chat.titles()).toEqual(["one"]);
  });

  it("knows the day, the area and the user's name", async () => {
    chat.model.push({ text: "Hello Ada." });
    const area = "0f0e0d0c-0b0a-4908-8706-050403020100";
    await eventsOf(
      await chat.stream(say("Tell me a joke", { context: { user_name: "Ada", view_context: `area::${area}` } })),
    );
    expect(chat.lastSystem()).toContain("The user's name: Ada");
    expect(chat.lastSystem()).toContain(`Current area: ${area}`);
    expect(chat.lastSystem()).toMatch(/Today: \d{4}-\d{2}-\d{2}/u);
  });

  it("begins a conversation with all messages, and goes on with one that it is named", async () => {
    chat.model.push({ text: "Green." }, { text: "Because you said so." });
    const messages = [
      { role: "user", text: "Which colour?" },
      { role: "assistant", text: "Any." },
      { role: "user", text: "Then which do you take?" },
    ];
    const first = await chat.stream({ messages });
    const thread_id = first.headers.get("x-thread-id");
    await eventsOf(first);
    const all = [...messages, { role: "assistant", text: "Green." }, { role: "user", text: "Why?" }];
    const second = await chat.stream({ messages: all, thread_id });
    expect(second.headers.get("x-thread-id")).toBe(thread_id);
    await eventsOf(second);
    const sent = chat.model.requests.at(-1)?.messages.filter(({ role }) => role !== "system") ?? [];
    expect(sent.map(({ role, content }) => [role, content])).toEqual(
      all.map(({ role, text }) => [role, expect.stringContaining(text)]),
    );
  });

  it("asks before a deletion if configured, and accepts an approval in words", async () => {
    await chat.server.close();
    chat.server = await chat.server.restart({ confirmTasks: true });
    const { data } = z
      .object({ data: z.looseObject({ id: z.string() }) })
      .parse(await (await chat.server.send("POST", "/api/tasks", { title: "old" })).json());
    chat.model.push({ toolCalls: [{ name: "delete_task", arguments: { task_id: data.id } }] });
    const first = await chat.stream(say("Delete the task old"), { "accept-language": "zh" });
    const thread_id = first.headers.get("x-thread-id");
    const events = await eventsOf(first);
    const question = events.find(({ event }) => event === "question")?.data;
    expect(question).toMatchObject({ kind: "confirmation", tool: "delete_task", params: { task_id: data.id } });
    expect(question?.["question"]).toContain("删除任务“old”");
    expect(textOf(events)).toContain("删除任务“old”");
    expect(events.at(-1)?.event).toBe("done");
    expect(await chat.titles()).toEqual(["old"]);

    chat.model.push({ text: "The task is gone." });
    const answered = await eventsOf(await chat.stream(say("允许", { thread_id })));
    expect(answered.find(({ data: { status } }) => status === "success")?.data).toMatchObject({ name: "delete_task" });
    expect(textOf(answered)).toContain("The task is gone.");
    expect(await chat.titles()).toEqual([]);
  });

  it("can be read again from an event on", async () => {
    chat.model.push(creates("one"), { text: "It is there, and a few words more." });
    const first = await chat.stream(say("Create the task one"));
    const location = first.headers.get("location") ?? "";
    const events = await eventsOf(first);
    const middle = events.findIndex(({ event }) => event === "tool");
    const again = await chat.server.send("GET", location, undefined, { "last-event-id": events[middle]?.id ?? "" });
    expect(await eventsOf(again)).toEqual(events.slice(middle + 1));
  });

  it("sends a failure with its type and message, and ends without done", async () => {
    chat.model.push({ fault: { kind: "status", status: 401 } });
    const events = await eventsOf(await chat.stream(say("Tell me a joke", { context: { on_error: "fail" } })));
    expect(events.at(-1)).toMatchObject({ event: "error", data: { type: "error", errorType: "auth" } });
    expect(events.at(-1)?.data["message"]).toEqual(expect.stringMatching(/.+/u));
  });
});
