import { AIMessage, HumanMessage, SystemMessage, ToolMessage, type BaseMessage } from "@langchain/core/messages";
import { afterEach, describe, expect, it } from "vitest";
import type { ModelOptions } from "@millrace/models/provider";
import type { ProfileRows } from "@millrace/models/registry/profiles";
import { startModelServer, type ModelRequest, type ModelServer } from "@millrace/testing/model-server";
import { answerBeginning } from "@millrace/models/messages/answer-beginning";
import { noteMessage } from "@millrace/models/messages/note-message";
import { vendorModel } from "./vendor-model.ts";

const servers: ModelServer[] = [];

afterEach(async () => {
  await Promise.all(servers.splice(0).map(async (server) => await server.close()));
});

const tool = (name: string): object => ({
  type: "function",
  function: { name, description: "d", parameters: { type: "object", properties: {} } },
});

interface Sending {
  options?: ModelOptions;
  rows?: ProfileRows;
  messages?: BaseMessage[];
  call?: Record<string, unknown>;
  streamed?: boolean;
}

/** The request that a vendor gets. */
async function request(name: string, sending: Sending = {}): Promise<ModelRequest> {
  const { options, rows, messages = [new HumanMessage("hello")], call = {}, streamed = true } = sending;
  const server = await startModelServer({ script: [{ text: "ok" }] });
  servers.push(server);
  const model = vendorModel(name, server, options, rows).withConfig(call);
  if (streamed) for await (const _ of await model.stream(messages));
  else await model.invoke(messages);
  server.assertFinished();
  const [made] = server.requests;
  if (made === undefined) throw new Error("nothing was sent");
  return made;
}

/** What a vendor is sent. */
async function sent(name: string, sending: Sending = {}): Promise<ModelRequest["body"]> {
  return (await request(name, sending)).body;
}

/** A turn that is over and one under way: each with a call and its result. */
const twoTurns = [
  new SystemMessage("rules"),
  new HumanMessage("first"),
  assistant("old thoughts", "a1"),
  new ToolMessage({ tool_call_id: "a1", content: "3" }),
  new AIMessage({ content: "three", additional_kwargs: { reasoning_content: "last thoughts" } }),
  new HumanMessage("second"),
  assistant("new thoughts", "a2"),
  new ToolMessage({ tool_call_id: "a2", content: "4" }),
  assistant(undefined, "a3"),
  new ToolMessage({ tool_call_id: "a3", content: "5" }),
];

function assistant(reasoning_content: string | undefined, id: string): AIMessage {
  const additional_kwargs = reasoning_content === undefined ? {} : { reasoning_content };
  return new AIMessage({ content: "", additional_kwargs, tool_calls: [{ name: "add", args: {}, id }] });
}

const thoughtsIn = ({ messages }: ModelRequest["body"]): unknown[] =>
  messages
    .filter(({ role }) => role === "assistant")
    .map((message) => message["reasoning_content"] ?? message["thinking"]);

/** What a server of Ollama reports of a model that can think. */
const installed: ProfileRows = { "ollama:qwen3:8b": { thinking: "optional" } };

describe("thoughts on their way back", () => {
  it("goes on through the notes of the program, before and behind what the model was forced to", async () => {
    const messages = [
      ...twoTurns,
      new AIMessage("all done"),
      noteMessage("Go on."),
      assistant("newest thoughts", "a4"),
      new ToolMessage({ tool_call_id: "a4", content: "6" }),
      noteMessage("Two iterations are left."),
    ];
    const own = ["new thoughts", undefined, undefined, "newest thoughts"];
    expect(thoughtsIn(await sent("zhipu:glm-4.7", { messages }))).toEqual([undefined, undefined, ...own]);
  });

  it.each([
    // Without the thoughts before a call the vendor refuses every later request; what is not known is empty.
    ["deepseek:deepseek-reasoner", ["old thoughts", undefined, "new thoughts", ""]],
    ["zhipu:glm-4.7", [undefined, undefined, "new thoughts", undefined]],
    // DeepSeek R1 refuses a request with them.
    ["siliconflow:deepseek-ai/DeepSeek-R1", [undefined, undefined, undefined, undefined]],
    ["qwen:qwen3-max", [undefined, undefined, undefined, undefined]],
    ["openai:gpt-5", [undefined, undefined, undefined, undefined]],
    ["ollama:qwen3:8b", [undefined, undefined, "new thoughts", undefined]],
    ["own:qwen3-8b", [undefined, undefined, undefined, undefined]],
  ])("of %s", async (name, thoughts) => {
    const rows = installed;
    expect(thoughtsIn(await sent(name, { messages: twoTurns, rows }))).toEqual(thoughts);
    expect(thoughtsIn(await sent(name, { messages: twoTurns, rows, streamed: false }))).toEqual(thoughts);
  });

  it("do not go to a model that does not think now", async () => {
    const body = await sent("zhipu:glm-4.7", { messages: twoTurns, options: { thinking: false } });
    expect(thoughtsIn(body)).toEqual([undefined, undefined, undefined, undefined]);
    expect(thoughtsIn(await sent("deepseek:deepseek-chat", { messages: twoTurns }))).not.toContain("old thoughts");
  });
});

describe("thinking", () => {
  it.each<[string, ModelOptions, object]>([
    ["zhipu:glm-4.7", {}, { thinking: { type: "enabled" }, temperature: 1, max_tokens: 65_536 }],
    ["zhipu:glm-4.7", { temperature: 0.3 }, { thinking: { type: "enabled" }, temperature: 1 }],
    ["zhipu:glm-4.7", { thinking: false }, { thinking: { type: "disabled" }, temperature: 0.7, max_tokens: 32_768 }],
    ["zhipu:glm-4.7", { thinking: false, temperature: 0.3 }, { thinking: { type: "disabled" }, temperature: 0.3 }],
  ])("of %s with %o is asked for as %o", async (name, options, fields) => {
    expect(await sent(name, { options })).toMatchObject(fields);
  });

  const optional: ProfileRows = { "own:x": { thinking: "optional" } };

  it.each([
    ["deepseek:deepseek-reasoner", {}],
    ["openai:gpt-5", {}],
    ["qwen:qwen-max", {}],
    ["own:x", optional],
  ])("of %s is not in the request, where there is no choice or its field is unknown", async (name, rows) => {
    const body = await sent(name, { rows });
    expect(body).not.toHaveProperty("thinking");
    expect(body).not.toHaveProperty("enable_thinking");
  });

  it("of Qwen goes by its own field, and not where an answer is whole, JSON, or a forced call", async () => {
    const name = "qwen:qwen3-8b";
    expect(await sent(name)).toHaveProperty("enable_thinking", true);
    expect(await sent(name, { options: { thinking: false } })).toHaveProperty("enable_thinking", false);
    expect(await sent(name, { streamed: false })).toHaveProperty("enable_thinking", false);
    const json = { response_format: { type: "json_object" } };
    expect(await sent(name, { call: json })).toHaveProperty("enable_thinking", false);
    const forced = { tools: [tool("a"), tool("b")], tool_choice: "a" };
    expect(await sent(name, { call: forced })).toMatchObject({
      enable_thinking: false,
      tool_choice: { type: "function", function: { name: "a" } },
    });
  });

  it("of Ollama's models goes by its field, not where an answer is JSON, and is not in the request where its field is unknown", async () => {
    const ask = async (sending: Sending) => await sent("ollama:qwen3:8b", sending);
    expect(await ask({ rows: installed })).toHaveProperty("think", true);
    expect(await ask({ rows: installed, options: { thinking: false } })).toHaveProperty("think", false);
    expect(await ask({ rows: installed, call: { format: "json" } })).toMatchObject({ think: false, format: "json" });
    expect(await ask({})).not.toHaveProperty("think");
    const always = { "ollama:qwen3:8b": { thinking: "always" } } as const;
    expect(await ask({ rows: always })).not.toHaveProperty("think");
  });

  it("of SiliconFlow's models goes by its field", async () => {
    expect(await sent("siliconflow:Qwen/Qwen3-8B")).toHaveProperty("enable_thinking", true);
  });

  it("of OpenAI's models leaves no choice of the temperature", async () => {
    expect(await sent("openai:gpt-5", { options: { temperature: 0.2 } })).not.toHaveProperty("temperature");
    expect(await sent("openai:gpt-4o", { options: { temperature: 0.2 } })).toHaveProperty("temperature", 0.2);
  });
});

describe("a forced tool", () => {
  const forced = { tools: [tool("a"), tool("b")], tool_choice: "a" };
  const choice = { type: "function", function: { name: "a" } };

  it.each([
    ["openai:gpt-4o", ["a", "b"], choice],
    ["own:qwen3-8b", ["a", "b"], choice],
    ["siliconflow:deepseek-ai/DeepSeek-R1", ["a", "b"], choice],
    ["deepseek:deepseek-chat", ["a", "b"], choice],
    ["deepseek:deepseek-reasoner", ["a"], undefined],
    ["zhipu:glm-4.7", ["a"], undefined],
    ["ollama:qwen3:8b", ["a"], undefined],
  ])("of %s", async (name, offered, chosen) => {
    const body = await sent(name, { call: forced });
    expect(body.tools?.map(({ function: called }) => called?.name)).toEqual(offered);
    expect(body["tool_choice"]).toEqual(chosen);
  });

  it("of any name leaves all tools to a vendor that knows no force", async () => {
    const body = await sent("zhipu:glm-4.7", { call: { ...forced, tool_choice: "required" } });
    expect(body.tools).toHaveLength(2);
    expect(body).not.toHaveProperty("tool_choice");
  });
});

describe("the beginning of an answer", () => {
  const messages = [new HumanMessage("Count"), answerBeginning("One, two, ", "Up to three.")];
  const usual = "/v1/chat/completions";

  it.each<[string, ModelOptions, object, string]>([
    ["deepseek:deepseek-reasoner", {}, { prefix: true, reasoning_content: "Up to three." }, "/beta/chat/completions"],
    ["deepseek:deepseek-chat", {}, { prefix: true }, "/beta/chat/completions"],
    ["qwen:qwen-max", {}, { partial: true }, `/compatible-mode${usual}`],
    ["qwen:qwen3-8b", { thinking: false }, { partial: true }, `/compatible-mode${usual}`],
    ["openai:gpt-4o", {}, {}, usual],
    ["zhipu:glm-4.7", { thinking: false }, {}, "/api/paas/v4/chat/completions"],
    ["siliconflow:Qwen/Qwen3-8B", { thinking: false }, {}, usual],
    ["own:qwen3-8b", {}, {}, usual],
  ])("to %s with %o is a last message with %o", async (name, options, fields, path) => {
    for (const streamed of [true, false]) {
      const { body, path: where } = await request(name, { messages, options, streamed });
      expect(body.messages.at(-1)).toEqual({ role: "assistant", content: "One, two, ", ...fields });
      expect(where).toBe(path);
    }
  });
});

describe("images", () => {
  const messages = [
    new HumanMessage({
      content: [
        { type: "text", text: "What is this?" },
        { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
      ],
    }),
  ];

  it.each([
    ["zhipu:glm-4.6v", ["image_url", "text"]],
    ["openai:gpt-4o", ["text", "image_url"]],
    ["qwen:qwen-vl-plus", ["text", "image_url"]],
  ])("of a message to %s stand as %s", async (name, order) => {
    const [message] = (await sent(name, { messages })).messages;
    expect(message?.content).toMatchObject(order.map((type) => ({ type })));
  });
});

it("asks Zhipu for no temperature that it does not have", async () => {
  const options = { thinking: false, temperature: 1.6 };
  expect(await sent("zhipu:glm-4.7", { options })).toHaveProperty("temperature", 1);
  expect(await sent("deepseek:deepseek-chat", { options })).toHaveProperty("temperature", 1.6);
});

describe("what Ollama gets beside that", () => {
  const name = "ollama:qwen3:8b";
  const options = async (sending: Sending): Promise<unknown> => (await sent(name, sending))["options"];

  it("is always a window, the limits of the answer, and that nothing is to be cut", async () => {
    const rows: ProfileRows = { [name]: { context: 16_384, max_tokens: 2048, temperature: 0.3 } };
    const request = await sent(name, { rows });
    expect(request).toMatchObject({ truncate: false, shift: false, stream: true });
    expect(request["options"]).toEqual({ num_ctx: 16_384, num_predict: 2048, temperature: 0.3 });
    expect(await options({})).toEqual({ num_ctx: 32_768 });
    expect(await options({ options: { temperature: 1.7 } })).toMatchObject({ temperature: 1.7 });
  });

  it("is which tool a result is of, and which call", async () => {
    const result = new ToolMessage({ tool_call_id: "a1", name: "add", content: [{ type: "text", text: "3" }] });
    const { messages } = await sent(name, { messages: [...twoTurns.slice(0, 3), result] });
    expect(messages).toEqual([
      { role: "system", content: "rules" },
      { role: "user", content: "first" },
      {
        role: "assistant",
        content: "",
        tool_calls: [{ id: "a1", type: "function", function: { name: "add", arguments: {} } }],
      },
      { role: "tool", content: "3", tool_name: "add", tool_call_id: "a1" },
    ]);
  });

  it("are images beside the text of their message, without addresses", async () => {
    const image = (url: string) => ({ type: "image_url", image_url: { url } });
    const text = { type: "text", text: "What is this?" };
    const content = [text, image("data:image/png;base64,AAAA"), image("https://example.org/a.png")];
    const { messages } = await sent(name, { messages: [new HumanMessage({ content })] });
    expect(messages).toEqual([{ role: "user", content: "What is this?", images: ["AAAA"] }]);
  });
});
