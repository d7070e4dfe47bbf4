import {
  AIMessage,
  HumanMessage,
  SystemMessage,
  ToolMessage,
  type AIMessageChunk,
  type BaseMessage,
} from "@langchain/core/messages";
import { concat } from "@langchain/core/utils/stream";
import { afterEach, describe, expect, it } from "vitest";
import { loadConfig } from "@millrace/engine/config/config";
import type { AppError } from "@millrace/engine/errors/errors";
import { toModelError } from "@millrace/models/model-error";
import { noteMessage } from "@millrace/models/messages/note-message";
import { wireRequest } from "@millrace/models/messages/wire-request";
import { startModelServer, type ModelServer, type ModelStep } from "@millrace/testing/model-server";
import { vendorModel, wire } from "./vendor-model.ts";

const servers: ModelServer[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map(async (server) => await server.close()));
});

async function serve(...script: ModelStep[]): Promise<ModelServer> {
  const server = await startModelServer({ script });
  servers.push(server);
  return server;
}

const codex = "openai:gpt-5-codex";
const tool = { type: "function", function: { name: "read_file", description: "d", parameters: { type: "object" } } };

async function read(model: ReturnType<typeof vendorModel>): Promise<AIMessageChunk[]> {
  const chunks: AIMessageChunk[] = [];
  for await (const chunk of await model.stream("hello")) chunks.push(chunk);
  return chunks;
}

function sentTo({ requests }: ModelServer, index = 0): unknown {
  return JSON.parse(requests[index]?.raw ?? "{}");
}

async function failure(work: Promise<unknown>): Promise<AppError> {
  return toModelError(
    await work.then(
      () => expect.unreachable(),
      (error: unknown) => error,
    ),
  );
}

describe("a model that has no chat completions", () => {
  it.each([
    ["openai:gpt-5-codex", "/v1/responses"],
    ["openai:gpt-4o-mini", "/v1/chat/completions"],
    ["siliconflow:Pro/some-codex", "/v1/chat/completions"],
    ["deepseek:deepseek-codex", "/v1/chat/completions"],
    ["qwen:qwen-codex", "/compatible-mode/v1/chat/completions"],
    ["own:my-codex", "/v1/chat/completions"],
  ])("is asked through the interface that it has: %s by %s", async (name, path) => {
    const server = await serve({ text: "Hello." });
    expect((await vendorModel(name, server).invoke("hello")).text).toBe("Hello.");
    expect(server.requests.map((request) => request.path)).toEqual([path]);
  });

  it("answers in the form of all others, streamed and not", async () => {
    const step: ModelStep = {
      reasoning: "Let me think.",
      text: "I read it.",
      toolCalls: [{ name: "read_file", arguments: { path: "a.txt" }, id: "call_1" }],
      usage: { input: 300, output: 40, cached: 128 },
    };
    const server = await serve(step, step);
    const chunks = await read(vendorModel(codex, server));
    const sum = chunks.reduce((left, right) => concat(left, right));
    const whole = await vendorModel(codex, server).invoke("hello");
    for (const answer of [sum, whole]) {
      expect(answer.content).toBe("I read it.");
      expect(answer.additional_kwargs).toEqual({ reasoning_content: "Let me think." });
      expect(answer.tool_calls).toMatchObject([{ name: "read_file", args: { path: "a.txt" }, id: "call_1" }]);
      expect(answer.usage_metadata).toMatchObject({
        input_tokens: 300,
        output_tokens: 40,
        total_tokens: 340,
        input_token_details: { cache_read: 128 },
      });
      expect(answer.response_metadata).toMatchObject({ finish_reason: "stop" });
      expect(JSON.stringify(answer.response_metadata).length).toBeLessThan(200);
    }
    expect(new Set(chunks.map(({ id }) => id)).size).toBe(1);
    expect(chunks.flatMap(({ text }) => (text === "" ? [] : [text]))).toEqual(["I", " read", " it."]);
  });

  it("is sent the whole conversation, as a strict provider takes it, and leaves nothing with the vendor", async () => {
    const server = await serve({ text: "Done." });
    const model = vendorModel(codex, server, { temperature: 0.5 });
    const calls = [{ name: "read_file", args: { path: "a.txt" }, id: "call_1" }];
    const bound = model.bindTools?.([tool], { tool_choice: "read_file" }) ?? expect.unreachable();
    await bound.invoke([
      new SystemMessage("Be brief."),
      new HumanMessage("Read a.txt"),
      new AIMessage({ content: "", tool_calls: calls, additional_kwargs: { reasoning_content: "Hm." } }),
      new ToolMessage({ tool_call_id: "call_1", content: "content of a" }),
      new HumanMessage("And now?"),
    ]);
    const sent: unknown = JSON.parse(server.requests[0]?.raw ?? "{}");
    expect(sent).toMatchObject({
      store: false,
      tool_choice: { type: "function", name: "read_file" },
      input: [
        { role: "developer", content: "Be brief." },
        { role: "user", content: "Read a.txt" },
        { type: "function_call", call_id: "call_1", name: "read_file", arguments: '{"path":"a.txt"}' },
        { type: "function_call_output", call_id: "call_1", output: "content of a" },
        { role: "user", content: "And now?" },
      ],
    });
    expect(sent).not.toHaveProperty("temperature");
    expect(JSON.stringify(sent)).not.toContain("Hm.");
    server.assertFinished();
  });

  it("says that it reached the length limit", async () => {
    const step: ModelStep = { text: "Half of", finishReason: "length" };
    const server = await serve(step, step);
    const sum = (await read(vendorModel(codex, server))).reduce((left, right) => concat(left, right));
    const whole = await vendorModel(codex, server).invoke("hello");
    expect([sum, whole].map(({ response_metadata }) => response_metadata["finish_reason"])).toEqual([
      "length",
      "length",
    ]);
  });

  it.each<[string, object, string, boolean]>([
    ["of its own fault", { code: "server_error", message: "try again" }, "server", true],
    ["at a limit", { code: "rate_limit_exceeded", message: "slow down" }, "rate_limit", true],
    ["at the request", { code: "invalid_prompt", message: "not this" }, "api_error", false],
  ])("fails %s with an error that says so, streamed and not", async (_name, error, code, recoverable) => {
    const response = { id: "resp_1", object: "response", status: "failed", error, output: [] };
    const failed = `event: response.failed\ndata: ${JSON.stringify({ type: "response.failed", response })}\n\n`;
    const server = await serve({ wire: failed }, { wire: JSON.stringify(response) });
    const model = vendorModel(codex, server);
    for (const work of [() => read(model), () => model.invoke("hello")]) {
      expect(await failure(work())).toMatchObject({ code, recoverable });
    }
  });

  it("returns its refusal as text", async () => {
    const events = [
      { type: "response.created", response: { id: "resp_1", model: "gpt-5-codex" } },
      { type: "response.refusal.done", refusal: "I cannot help with that." },
      { type: "response.completed", response: { id: "resp_1", status: "completed", output: [] } },
    ].map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    const server = await serve({ wire: events.join("") });
    const sum = (await read(vendorModel(codex, server))).reduce((left, right) => concat(left, right));
    expect(sum.text).toBe("I cannot help with that.");
  });

  describe("and sealed thoughts", () => {
    const call = (path: string, call_id: string): object => ({
      type: "function_call",
      call_id,
      name: "read_file",
      arguments: JSON.stringify({ path }),
    });
    const result = (text: string, call_id: string): object => ({ type: "function_call_output", call_id, output: text });
    const first = { type: "reasoning", id: "rs_01", encrypted_content: "gAAAAABo-first-kP3x" };
    const second = { type: "reasoning", id: "rs_02", encrypted_content: "gAAAAABo-second-Zt7w", summary: [] };
    const asked = new HumanMessage("Read a.txt and b.txt");
    const results = [
      new ToolMessage({ tool_call_id: "call_a", content: "A" }),
      new ToolMessage({ tool_call_id: "call_b", content: "B" }),
    ];
    const plain = [
      { role: "user", content: "Read a.txt and b.txt" },
      { role: "assistant", content: "I read them." },
      call("a.txt", "call_a"),
      call("b.txt", "call_b"),
      result("A", "call_a"),
      result("B", "call_b"),
    ];

    /** An answer with sealed thoughts, streamed or not, as a session has stored it. */
    async function answered(stream: boolean, name = codex): Promise<AIMessage> {
      const server = await serve({ wire: wire(`openai-sealed.${stream ? "sse" : "json"}`) });
      const model = vendorModel(name, server);
      const answer = stream
        ? (await read(model)).reduce((left, right) => concat(left, right))
        : await model.invoke("hello");
      expect(sentTo(server)).toMatchObject({ store: false, include: ["reasoning.encrypted_content"] });
      const { id, content, tool_calls = [], additional_kwargs } = answer;
      const stored = { content, tool_calls, additional_kwargs: JSON.parse(JSON.stringify(additional_kwargs)) };
      return new AIMessage({ ...stored, ...(id === undefined ? {} : { id }) });
    }

    async function inputOf(messages: BaseMessage[], name = codex, ...script: ModelStep[]): Promise<unknown> {
      const server = await serve(...script, { text: "Done." });
      await vendorModel(name, server).invoke(messages);
      server.assertFinished();
      return Object(sentTo(server, script.length)).input;
    }

    it.each([true, false])(
      "has them back with the results of the turn, each in its place (streamed: %s)",
      async (stream) => {
        const answer = await answered(stream);
        expect(answer).toMatchObject({ content: "I read them." });
        expect(answer.additional_kwargs["reasoning_content"]).toBe("I have to read both.");
        const [user, words, a, ...rest] = plain;
        expect(await inputOf([asked, answer, ...results])).toMatchObject([user, first, words, second, a, ...rest]);
      },
    );

    it("has them back behind the notes of the program too", async () => {
      const more = new AIMessage({
        content: "",
        tool_calls: [{ name: "read_file", args: { path: "c.txt" }, id: "c" }],
      });
      const forced = [new AIMessage("Both are read."), noteMessage("Go on."), more];
      const third = new ToolMessage({ tool_call_id: "c", content: "C" });
      const messages = [asked, await answered(true), ...results, ...forced, third, noteMessage("Two are left.")];
      const [user, words, a, ...rest] = plain;
      expect(await inputOf(messages)).toMatchObject([
        user,
        first,
        words,
        second,
        a,
        ...rest,
        { role: "assistant", content: "Both are read." },
        { role: "user", content: "Go on." },
        call("c.txt", "c"),
        result("C", "c"),
        { role: "user", content: "Two are left." },
      ]);
    });

    it("keeps those that were before the words before its calls where the words are gone", async () => {
      const answer = await answered(true);
      answer.content = "";
      const [user, , ...rest] = plain;
      expect(await inputOf([asked, answer, ...results])).toMatchObject([user, first, second, ...rest]);
    });

    it.each<[string, string, (answer: AIMessage) => BaseMessage[]]>([
      ["of an earlier turn", codex, (answer) => [asked, answer, ...results, new HumanMessage("Thanks")]],
      ["of another model", "openai:gpt-5.1-codex", (answer) => [asked, answer, ...results]],
      [
        "of calls that have another id by now",
        codex,
        (answer) => {
          answer.tool_calls = (answer.tool_calls ?? []).map((one) => ({ ...one, id: `${one.id}_2` }));
          answer.content = "";
          return [
            asked,
            answer,
            ...results.map((one) => new ToolMessage({ content: one.text, tool_call_id: `${one.tool_call_id}_2` })),
          ];
        },
      ],
    ])("leaves out those %s", async (which, name, messages) => {
      const input = JSON.stringify(await inputOf(messages(await answered(true)), name));
      expect(input).not.toContain("second-Zt7w");
      expect(input.includes("first-kP3x")).toBe(which.startsWith("of calls"));
    });

    it("are not for another vendor", async () => {
      const server = await serve({ text: "Done." });
      await vendorModel("deepseek:deepseek-chat", server).invoke([asked, await answered(true), ...results]);
      expect(server.requests[0]?.raw).not.toContain("gAAAA");
      expect(server.requests[0]?.raw).not.toContain('include"');
    });

    it("goes on without them where the vendor cannot read them any more", async () => {
      const fault: ModelStep["fault"] = {
        kind: "status",
        status: 400,
        code: "invalid_encrypted_content",
        message: "The encrypted content gAAA...kP3x could not be verified.",
      };
      expect(await inputOf([asked, await answered(true), ...results], codex, { fault })).toMatchObject(plain);
    });

    it("are asked of no model that does not think", async () => {
      const server = await serve({ text: "Done." });
      await vendorModel("openai:codex-of-old", server).invoke("hello");
      expect(sentTo(server)).not.toHaveProperty("include");
    });
  });

  it("can be looked at with what it would be sent", async () => {
    const asked = {
      model: codex,
      temperature: null,
      thinking: null,
      max_tokens: null,
      tool_protocol: null,
      forced_tool: null,
      messages: [new HumanMessage("hello")],
      tools: [tool],
    };
    const config = loadConfig({ OPENAI_API_KEY: "test-key" });
    expect(await wireRequest(asked, config, {})).toMatchObject({
      request: {
        model: "gpt-5-codex",
        messages: [{ role: "user", content: "hello" }],
        tools: [{ type: "function", name: "read_file" }],
      },
      endpoint: { url: "https://api.openai.com/v1/responses", messages_field: "input" },
    });
  });
});
