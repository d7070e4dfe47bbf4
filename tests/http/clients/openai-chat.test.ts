import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { AIMessageChunk } from "@langchain/core/messages";
import { ChatOpenAI } from "@langchain/openai";
import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startModelServer, type ModelServer } from "@millrace/testing/model-server";
import { projectFolder } from "../../support/source-files.ts";
import { startTestServer, type TestServer } from "../../support/test-server.ts";

let model: ModelServer;
let server: TestServer;
let foreign: TestServer;
let client: OpenAI;
let other: OpenAI;
beforeAll(async () => {
  model = await startModelServer({ script: [] });
  const openai = { apiKey: "test-key", baseUrl: model.url };
  [server, foreign] = await Promise.all([
    startTestServer({ graphs: join(projectFolder, "langgraph.json"), model: "openai:scripted", openai }),
    startTestServer(),
  ]);
  client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: "unused" });
  other = new OpenAI({ baseURL: `${foreign.url}/v1`, apiKey: "unused" });
});
afterAll(async () => {
  await Promise.all([server.remove(), foreign.remove()]);
  await model.close();
});

const user = (content: string) => ({ role: "user" as const, content });
const weather = {
  type: "function" as const,
  function: {
    name: "get_weather",
    description: "The weather of a city",
    parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  },
};

describe("GET /v1/models", () => {
  it("lists the graphs that have messages", async () => {
    const ids = (await other.models.list()).data.map(({ id }) => id);
    expect(ids).toContain("talker");
    expect(ids).not.toContain("counter");
    expect(await client.models.retrieve("agent")).toMatchObject({ id: "agent", object: "model" });
  });

  it("answers 404 in OpenAI's form for an unknown model", async () => {
    await expect(client.models.retrieve("unknown")).rejects.toMatchObject({ status: 404, code: "model_not_found" });
  });
});

describe("POST /v1/chat/completions", () => {
  it("answers without streaming", async () => {
    model.push({ text: "Good morning to you.", usage: { input: 12, output: 5 } });
    const answer = await client.chat.completions.create({ model: "agent", messages: [user("Hello")] });
    expect(answer.choices).toMatchObject([
      { index: 0, finish_reason: "stop", message: { role: "assistant", content: "Good morning to you." } },
    ]);
    expect(answer.usage).toMatchObject({ prompt_tokens: 12, completion_tokens: 5, total_tokens: 17 });
  });

  it("answers with a graph of a user's own", async () => {
    const answer = await other.chat.completions.create({ model: "talker", messages: [user("Hello")] });
    expect(answer.choices[0]?.message.content).toBe("Hello there");
  });

  it("streams the role, then the words, the finish reason and the usage", async () => {
    model.push({ text: "Good morning to you.", reasoning: "They greet.", usage: { input: 12, output: 5 } });
    const chunks = [];
    const stream = await client.chat.completions.create({
      model: "agent",
      messages: [user("Hello")],
      stream: true,
      stream_options: { include_usage: true },
    });
    for await (const chunk of stream) chunks.push(chunk);
    expect(chunks[0]?.choices[0]?.delta).toMatchObject({ role: "assistant", content: "" });
    expect(chunks.map(({ choices }) => choices[0]?.delta.content ?? "").join("")).toBe("Good morning to you.");
    expect(chunks.length).toBeGreaterThan(5);
    expect(chunks.at(-2)?.choices[0]).toMatchObject({ delta: {}, finish_reason: "stop" });
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { prompt_tokens: 12, completion_tokens: 5 } });
  });

  it.each(["by the history", "by its name"])(
    "returns a call of the client's tools and takes its result, the thread %s",
    async (how) => {
      const named = how === "by its name" ? { headers: { "x-thread-id": `weather of today` } } : {};
      model.push({
        text: "Let me look.",
        toolCalls: [{ name: "get_weather", arguments: { city: "Oslo" }, id: `call-${how}` }],
      });
      const messages: OpenAI.ChatCompletionMessageParam[] = [user("How is the weather in Oslo?")];
      const first = await client.chat.completions.create({ model: "agent", messages, tools: [weather] }, named);
      const [asked] = first.choices;
      expect(asked).toMatchObject({
        finish_reason: "tool_calls",
        message: { content: "Let me look.", tool_calls: [{ type: "function", function: { name: "get_weather" } }] },
      });
      const [call] = asked?.message.tool_calls ?? [];
      expect(call?.type === "function" ? JSON.parse(call.function.arguments) : undefined).toEqual({ city: "Oslo" });
      expect(model.requests.at(-1)?.toolNames).toContain("get_weather");
      if (asked === undefined || call === undefined) return;
      messages.push(asked.message, { role: "tool", tool_call_id: call.id, content: "It snows." });
      model.push({ text: "Take a coat." });
      const second = await client.chat.completions.create({ model: "agent", messages, tools: [weather] }, named);
      expect(second.choices).toMatchObject([{ finish_reason: "stop", message: { content: "Take a coat." } }]);
      const last = model.requests.at(-1)?.messages.at(-1);
      expect(last).toMatchObject({ role: "tool", tool_call_id: call.id });
      expect(String(last?.content)).toContain("It snows.");
    },
  );

  it("closes an open call if the client sends another message instead", async () => {
    const named = { headers: { "x-thread-id": crypto.randomUUID() } };
    model.push({ toolCalls: [{ name: "get_weather", arguments: { city: "Oslo" }, id: "left-alone" }] });
    const messages = [user("How is the weather in Oslo?")];
    await client.chat.completions.create({ model: "agent", messages, tools: [weather] }, named);
    model.push({ text: "Good morning." });
    const next = await client.chat.completions.create({ model: "agent", messages: [user("Hello")] }, named);
    expect(next.choices[0]?.message.content).toBe("Good morning.");
    const sent = model.requests.at(-1)?.messages ?? [];
    expect(sent.filter(({ tool_call_id }) => tool_call_id === "left-alone")).toHaveLength(1);
    const late = { role: "tool" as const, tool_call_id: "left-alone", content: "It snows." };
    const body = { model: "agent", messages: [late] };
    const problem = { status: 400, code: "tool_call_not_waiting" };
    await expect(client.chat.completions.create(body, named)).rejects.toMatchObject(problem);
  });

  it("returns the messages of subgraphs", async () => {
    const answer = await other.chat.completions.create({ model: "nested", messages: [user("Hello")] });
    expect(answer.choices[0]?.message.content).toBe("from inside");
  });

  it("works as a chat model of LangChain", async () => {
    const chat = new ChatOpenAI({
      model: "agent",
      apiKey: "unused",
      maxRetries: 0,
      configuration: { baseURL: `${server.url}/v1` },
    });
    model.push({ text: "Good morning to you.", usage: { input: 12, output: 5 } });
    const whole = await chat.invoke("Hello");
    expect(whole).toMatchObject({ content: "Good morning to you.", usage_metadata: { total_tokens: 17 } });
    model.push({ toolCalls: [{ name: "get_weather", arguments: { city: "Oslo" } }] });
    let streamed: AIMessageChunk | undefined;
    for await (const chunk of await chat.bindTools([weather]).stream("How is the weather in Oslo?")) {
      streamed = streamed?.concat(chunk) ?? chunk;
    }
    expect(streamed?.tool_calls).toMatchObject([{ name: "get_weather", args: { city: "Oslo" } }]);
  });

  it("returns an open question and accepts a plain yes, also without a thread", async () => {
    const path = "old";
    await mkdir(join(server.config.workspace, path));
    await writeFile(join(server.config.workspace, path, "file.txt"), "old");
    model.push({ toolCalls: [{ name: "delete_file", arguments: { path } }] });
    const messages: OpenAI.ChatCompletionMessageParam[] = [user("delete the folder old")];
    const first = await client.chat.completions.create({ model: "agent", messages });
    const [asked] = first.choices;
    expect(asked?.finish_reason).toBe("stop");
    expect(asked?.message.content).toContain("old");
    expect(asked?.message.tool_calls).toBeUndefined();
    expect(first).toMatchObject({
      langgraph: { interrupts: [{ value: { kind: "confirmation", tool: "delete_file" } }] },
    });
    if (asked === undefined) return;
    model.push({ text: "It is gone." });
    const second = await client.chat.completions.create({
      model: "agent",
      messages: [...messages, asked.message, user("yes")],
    });
    expect(second.choices[0]?.message.content).toBe("It is gone.");
    expect(existsSync(join(server.config.workspace, path))).toBe(false);
  });

  it("adds only new messages to a named thread, and refuses another history", async () => {
    const named = { headers: { "x-thread-id": crypto.randomUUID() } };
    model.push({ text: "One." }, { text: "Two." });
    const first = [user("Hello")];
    await client.chat.completions.create({ model: "agent", messages: first }, named);
    const history = [...first, { role: "assistant" as const, content: "One." }];
    await client.chat.completions.create({ model: "agent", messages: [...history, user("Good morning")] }, named);
    const { values } = await server.client.threads.getState<{ messages: { content: string }[] }>(
      named.headers["x-thread-id"],
    );
    expect(values.messages.map(({ content }) => content)).toEqual(["Hello", "One.", "Good morning", "Two."]);
    const again = client.chat.completions.create({ model: "agent", messages: [...history, user("Thanks")] }, named);
    await expect(again).rejects.toMatchObject({ status: 400, code: "history_differs", param: "messages" });
  });

  it("does not run twice with one Idempotency-Key", async () => {
    const before = model.requests.length;
    model.push({ text: "Once." });
    const options = { headers: { "Idempotency-Key": crypto.randomUUID(), "x-thread-id": crypto.randomUUID() } };
    const body = { model: "agent", messages: [user("Do it")] };
    const first = await client.chat.completions.create(body, options);
    const again = await client.chat.completions.create(body, options);
    expect(again).toEqual(first);
    expect(model.requests.length - before).toBe(1);
  });

  it("returns the error of a failed run once, in OpenAI's form", async () => {
    const before = await other.chat.completions.create({ model: "broken", messages: [user("Hello")] }).then(
      () => undefined,
      (error: unknown) => error,
    );
    expect(before).toMatchObject({ status: 400, type: "run_failed", code: "RangeError" });
    const runs = await foreign.client.threads.search({ metadata: { graph_id: "broken" } });
    expect(runs).toHaveLength(1);
  });

  it.each([
    [
      { model: "counter", messages: [user("Hello")] },
      { code: "unsupported_model", param: "model" },
    ],
    [
      { model: "talker", messages: [] },
      { code: "invalid_value", param: "messages" },
    ],
    [
      { model: "talker", messages: [user("Hello")], n: 2 },
      { code: "invalid_value", param: "n" },
    ],
  ])("refuses %j with 400", async (body, problem) => {
    await expect(other.chat.completions.create(body)).rejects.toMatchObject({ status: 400, ...problem });
  });

  it("passes a user's own graph the model parameters, and returns its open calls", async () => {
    const body = { model: "caller", messages: [user("Hello")], tools: [weather], temperature: 0.5, user: "ada" };
    const first = await other.chat.completions.create(body);
    const [asked] = first.choices;
    expect(asked).toMatchObject({ finish_reason: "tool_calls", message: { content: null } });
    const [call] = asked?.message.tool_calls ?? [];
    expect(call).toMatchObject({ id: "call-1", function: { name: "get_weather" } });
    expect(call?.type === "function" ? JSON.parse(call.function.arguments) : undefined).toEqual({ temperature: 0.5 });
    if (asked === undefined) return;
    const result = { role: "tool" as const, tool_call_id: "call-1", content: "It snows." };
    const second = await other.chat.completions.create({
      ...body,
      messages: [...body.messages, asked.message, result],
    });
    expect(second.choices[0]?.message.content).toBe("You said: It snows.");
  });

  it("stops the run when the client disconnects, unless the request says otherwise", async () => {
    for (const keeps of [false, true]) {
      const held = Promise.withResolvers<void>();
      model.push({ text: "Good morning to you.", hold: { after: 1, until: held.promise } });
      const headers = { "x-thread-id": crypto.randomUUID(), ...(keeps && { "x-on-disconnect": "continue" }) };
      const stream = await client.chat.completions.create(
        { model: "agent", messages: [user("Hello")], stream: true },
        { headers },
      );
      for await (const { choices } of stream) if (choices[0]?.delta.content) break;
      const status = (): Promise<string | undefined> => lastStatus(headers["x-thread-id"]);
      if (!keeps) await expect.poll(status).toBe("interrupted");
      held.resolve();
      await expect.poll(status).not.toBe("running");
      expect(await status()).toBe(keeps ? "success" : "interrupted");
    }
  });
});

async function lastStatus(thread: string): Promise<string | undefined> {
  return (await server.client.runs.list(thread))[0]?.status;
}
