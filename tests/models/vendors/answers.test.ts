import { HumanMessage, type AIMessageChunk } from "@langchain/core/messages";
import { concat } from "@langchain/core/utils/stream";
import { afterEach, describe, expect, it } from "vitest";
import { callsOf } from "../../../src/loop/reply/reply-calls.ts";
import { usageOf } from "../../../src/loop/reply/reply-message.ts";
import { loadConfig } from "@millrace/engine/config/config";
import { createModel, modelTarget } from "@millrace/models/load-model";
import { toModelError } from "@millrace/models/model-error";
import { cutPrompt } from "@millrace/models/ollama/cut-prompt";
import { callWithRetry } from "@millrace/models/resilience/call-with-retry";
import { normalizeAnswer } from "@millrace/models/vendors/answer";
import { compatibleQuirks, deepseekQuirks, zhipuQuirks } from "@millrace/models/vendors/quirks";
import { startModelServer, type ModelServer, type ModelStep } from "@millrace/testing/model-server";
import { vendorModel, wire, wireOf } from "./vendor-model.ts";

const servers: ModelServer[] = [];

afterEach(async () => {
  await Promise.all(servers.splice(0).map(async (server) => await server.close()));
});

async function serve(...script: ModelStep[]): Promise<ModelServer> {
  const server = await startModelServer({ script });
  servers.push(server);
  return server;
}

/** The vendors, the file of each, what it returns of its thoughts, and the tokens that its cache has saved. */
const vendors = [
  ["openai:gpt-4o-mini", "openai", false, 128],
  ["zhipu:glm-4.7", "glm", true, 128],
  ["siliconflow:deepseek-ai/DeepSeek-R1", "siliconflow", true, undefined],
  ["deepseek:deepseek-reasoner", "deepseek", true, 128],
  ["qwen:qwen-plus", "qwen", true, 128],
  ["ollama:qwen3:8b", "ollama", true, 128],
  ["own:qwen3-8b", "compatible", true, undefined],
  ["own:magistral-medium-latest", "mistral", true, undefined],
] as const;

async function read(model: ReturnType<typeof vendorModel>): Promise<{ sum: AIMessageChunk; thoughts: string[] }> {
  const chunks: AIMessageChunk[] = [];
  for await (const chunk of await model.stream([new HumanMessage("What is in notes.txt?")])) chunks.push(chunk);
  const sum = chunks.reduce((left, right) => concat(left, right));
  const thoughts = chunks.flatMap((chunk) => chunk.additional_kwargs["reasoning_content"] ?? []).map(String);
  return { sum, thoughts };
}

/** Ids of calls to Ollama's models are made here. */
const callOf = (file: string): object => ({
  name: "read_file",
  args: { path: "notes.txt" },
  id: file === "ollama" ? expect.stringMatching(/.{8}/u) : "call_1",
});

describe.each(vendors)("an answer of %s", (name, file, thinks, cached) => {
  it("has its call whole, and its thoughts as they were streamed", async () => {
    const server = await serve({ wire: wireOf(file, "call") });
    const { sum, thoughts } = await read(vendorModel(name, server));
    expect(sum.tool_calls).toMatchObject([callOf(file)]);
    expect(sum.invalid_tool_calls ?? []).toEqual([]);
    expect(thoughts).toEqual(thinks ? ["I have to ", "read the file."] : []);
    expect(sum.text).toBe("");
    server.assertFinished();
  });

  it("keeps words and thoughts apart", async () => {
    const server = await serve({ wire: wireOf(file, "answer") });
    const { sum, thoughts } = await read(vendorModel(name, server));
    expect(sum.text).toBe("The file says: 4.");
    expect(thoughts).toEqual(thinks ? ["It says ", "four."] : []);
  });

  it("reports the tokens that were used and those that the cache has saved", async () => {
    const server = await serve({ wire: wireOf(file, "call") }, { wire: wire(`${file}-whole.json`) });
    const model = vendorModel(name, server);
    const used = { input_tokens: 300, output_tokens: 40, total_tokens: 340 };
    const streamed = usageOf((await read(model)).sum);
    // A server of one's own reports no usage while it streams.
    if (file === "compatible") expect(streamed).toBeUndefined();
    else expect(streamed).toMatchObject(used);
    expect(streamed?.input_token_details?.cache_read).toBe(cached);
    const whole = usageOf(await model.invoke("What is in notes.txt?"));
    expect(whole).toMatchObject(used);
    expect(whole?.input_token_details?.cache_read).toBe(cached);
  });

  it("is the same where it is not streamed", async () => {
    const server = await serve({ wire: wire(`${file}-whole.json`) });
    const whole = await vendorModel(name, server).invoke("What is in notes.txt?");
    expect(whole.tool_calls).toMatchObject([callOf(file)]);
    expect(whole.additional_kwargs["reasoning_content"]).toBe(thinks ? "I have to read the file." : undefined);
  });
});

describe("an answer that the vendor breaks off", () => {
  it.each([
    ["zhipu:glm-4.7", "glm", "network_error"],
    ["deepseek:deepseek-reasoner", "deepseek", "insufficient_system_resource"],
  ])("of %s is a failure that may pass, and no call of it is whole", async (name, file, reason) => {
    const bytes = wire(`${file}-call.sse`).replace('"finish_reason":"tool_calls"', `"finish_reason":"${reason}"`);
    const server = await serve({ wire: bytes });
    await expect(read(vendorModel(name, server))).rejects.toMatchObject({ code: "network", recoverable: true });
  });
});

describe("a failure that a gateway sends in the stream", () => {
  it.each([
    [429, "rate_limit", true],
    [502, "server", true],
    [401, "auth", false],
    [400, "api_error", false],
  ])("has the kind of its code %i", async (code, kind, recoverable) => {
    const server = await serve({ wire: `data: ${JSON.stringify({ error: { code, message: "No, not now." } })}\n\n` });
    const error = await read(vendorModel("own:gateway", server)).catch((thrown: unknown) => toModelError(thrown));
    expect(error).toMatchObject({ code: kind, recoverable });
  });
});

describe("an answer in one piece that is none", () => {
  it.each<[string, unknown, string, boolean, RegExp]>([
    ["a failure with a code", { error: { code: 429, message: "Slow down." } }, "rate_limit", true, /Slow down/u],
    ["a failure in words", { error: "The model is overloaded." }, "server", false, /overloaded/u],
    ["no choices", { id: "x", choices: [] }, "server", true, /malformed/u],
    ["nothing", null, "server", true, /malformed/u],
  ])("is a failure that says what came: %s", async (_, body, code, recoverable, message) => {
    const server = await serve({ wire: JSON.stringify(body) });
    const asked = vendorModel("own:gateway", server).invoke("What is in notes.txt?");
    const error = await asked.catch((thrown: unknown) => toModelError(thrown));
    expect(error).toMatchObject({ code, recoverable, message: expect.stringMatching(message) });
  });
});

describe("an answer of Ollama", () => {
  const lines = wireOf("ollama", "answer").trimEnd().split("\n");
  const model = (server: ModelServer) => vendorModel("ollama:qwen3:8b", server);

  it("with a line that is no JSON is a failure, and the words before it stay", async () => {
    const broken = ["<html>", '"message"', "{}", '{"message":{"content":7}}', '{"message":{"role":"assis'];
    for (const line of broken) {
      const server = await serve({ wire: [...lines.slice(0, 3), line, ...lines.slice(3)].join("\n") });
      let text = "";
      const reading = (async () => {
        for await (const chunk of await model(server).stream("hello")) text += chunk.text;
      })();
      const error = toModelError(await reading.catch((thrown: unknown) => thrown));
      expect([line, error.code, error.recoverable, text]).toEqual([line, "server", true, "The file "]);
      expect(error.message).toContain(line);
    }
  });

  it("with blank lines, and no break after the last line, is whole", async () => {
    const server = await serve({ wire: lines.join("\n\n \n") });
    expect((await read(model(server))).sum.text).toBe("The file says: 4.");
  });

  it("that ends in the middle of a line has broken off, and keeps its words", async () => {
    const server = await serve({ wire: lines.join("\n").slice(0, -20) });
    let text = "";
    const reading = (async () => {
      for await (const chunk of await model(server).stream("hello")) text += chunk.text;
    })();
    const error = toModelError(await reading.catch((thrown: unknown) => thrown));
    expect([error.code, text]).toEqual(["network", "The file says: 4."]);
  });

  it("has several calls of one line apart", async () => {
    const server = await serve({ wire: wireOf("ollama", "parallel") });
    const { sum } = await read(model(server));
    expect(sum.tool_calls).toMatchObject([{ args: { path: "a.txt" } }, { args: { path: "b.txt" } }]);
    expect(new Set(sum.tool_calls?.map(({ id }) => id)).size).toBe(2);
  });

  it("to a prompt that was cut in silence says so", async () => {
    const answer = { wire: wireOf("ollama", "answer") };
    const server = await serve(answer, answer, answer);
    const ask = async (words: number, ...newer: string[]): Promise<unknown> => {
      const chunks: AIMessageChunk[] = [];
      const messages = ["word ".repeat(words), ...newer].map((text) => new HumanMessage(text));
      for await (const chunk of await model(server).stream(messages)) chunks.push(chunk);
      return cutPrompt(chunks.reduce((left, right) => concat(left, right)));
    };
    // The recording has read 300 tokens, of which it calls 128 cached.
    expect(await ask(650, "And now?")).toBeUndefined();
    expect(await ask(2000, "And now?")).toEqual({ read: 428, sent_at_least: 2002 });
    // So little cannot be what was left of the newest message: this server has not counted what it had cached.
    expect(await ask(2000)).toBeUndefined();
  });
});

describe("calls that a server gives the same number", () => {
  const piece = (delta: object, finish_reason: string | null = null): string =>
    `data: ${JSON.stringify({ id: "x", object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
  const called = (args: string, id?: string): string =>
    piece({
      role: "assistant",
      tool_calls: [{ index: 0, ...(id && { id }), function: { ...(id && { name: "read_file" }), arguments: args } }],
    });
  const end = `${piece({}, "tool_calls")}data: [DONE]\n\n`;

  it.each([
    ["each in one piece", [called('{"path":"a"}', "1"), called('{"path":"b"}', "2")]],
    [
      "each in pieces of which the first alone has its id",
      [called('{"path":', "1"), called('"a"}'), called('{"path":', "2"), called('"b"}')],
    ],
    [
      "each in pieces with its id, in turn",
      [called('{"path":', "1"), called('{"path":', "2"), called('"a"}', "1"), called('"b"}', "2")],
    ],
  ])("are calls of their own, %s", async (_, pieces) => {
    const server = await serve({ wire: [...pieces, end].join("") });
    const { sum } = await read(vendorModel("own:gemini", server));
    expect(callsOf(sum)).toMatchObject([
      { id: "1", name: "read_file", args: { path: "a" } },
      { id: "2", name: "read_file", args: { path: "b" } },
    ]);
  });
});

describe("normalizeAnswer", () => {
  it("leaves what it does not know as it is", () => {
    for (const answer of ["text", null, { choices: "none" }, { choices: [{ delta: 3 }] }]) {
      expect(normalizeAnswer(answer, compatibleQuirks)).toBe(answer);
    }
    const known = { id: "x", choices: [{ index: 0, delta: { content: "a", refusal: null }, finish_reason: null }] };
    expect(normalizeAnswer(known, zhipuQuirks)).toEqual(known);
  });

  it("reads words in parts, and counts that are missing", () => {
    const parts = [{ type: "text", text: "a" }, { type: "reference" }, { type: "text", text: "b" }];
    const plain = normalizeAnswer(
      { choices: [{ delta: { content: parts } }], usage: { prompt_tokens: 3, completion_tokens: null } },
      deepseekQuirks,
    );
    expect(plain).toMatchObject({
      choices: [{ delta: { content: "ab" } }],
      usage: { prompt_tokens: 3, completion_tokens: 0, total_tokens: 3 },
    });
  });
});

describe("a model that the vendor does not know", () => {
  it.each<[string, number, object]>([
    [
      "siliconflow:unknown/x",
      400,
      { code: 20_012, message: "Model does not exist. Please check it carefully.", data: null },
    ],
    [
      "deepseek:x",
      400,
      { error: { message: "Model Not Exist", type: "invalid_request_error", code: "invalid_request_error" } },
    ],
    ["zhipu:x", 400, { error: { code: "1211", message: "模型不存在，请检查模型代码。" } }],
    ["qwen:x", 404, { error: { message: "The model `x` does not exist.", code: "model_not_found" } }],
    ["openai:x", 404, { error: { message: "The model `x` does not exist", code: "model_not_found" } }],
  ])("is named, with what to check, and not asked again: %s", async (name, status, body) => {
    let requests = 0;
    const answer = (): Promise<Response> => {
      requests += 1;
      return Promise.resolve(Response.json(body, { status }));
    };
    const config = loadConfig(
      Object.fromEntries(
        ["OPENAI", "ZHIPU", "SILICONFLOW", "DEEPSEEK", "DASHSCOPE"].map((key) => [`${key}_API_KEY`, "k"]),
      ),
    );
    const model = createModel(name, { fetch: answer }, config);
    const target = modelTarget(model);
    const asked = callWithRetry((signal) => model.invoke("Hi", { signal }), {
      signal: new AbortController().signal,
      target,
      maxRetries: 3,
    });
    await expect(asked).rejects.toMatchObject({
      code: "not_found",
      recoverable: false,
      suggestion: expect.stringContaining(`Check the name "${name.slice(name.indexOf(":") + 1)}"`),
    });
    expect(requests).toBe(1);
  });
});
