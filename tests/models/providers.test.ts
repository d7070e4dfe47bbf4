import { AIMessage, HumanMessage, ToolMessage, type AIMessageChunk } from "@langchain/core/messages";
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { concat } from "@langchain/core/utils/stream";
import { afterEach, describe, expect, it } from "vitest";
import { loadConfig } from "@millrace/engine/config/config";
import type { AppError } from "@millrace/engine/errors/errors";
import { createModel, modelTarget } from "@millrace/models/load-model";
import { toModelError } from "@millrace/models/model-error";
import { refusingAddress, startModelServer, type ModelServer, type ModelStep } from "@millrace/testing/model-server";

const servers: ModelServer[] = [];

afterEach(async () => {
  await Promise.all(servers.splice(0).map(async (server) => await server.close()));
});

async function serve(...script: ModelStep[]): Promise<ModelServer> {
  const server = await startModelServer({ script });
  servers.push(server);
  return server;
}

type Protocol = "openai" | "ollama";

function client(protocol: Protocol, address: string): BaseChatModel {
  const config = loadConfig({
    OPENAI_BASE_URL: `${address}/v1`,
    OPENAI_API_KEY: "sk-test-1234567",
    OLLAMA_BASE_URL: address,
  });
  return createModel(`${protocol}:scripted`, {}, config);
}

async function streamed(model: Pick<BaseChatModel, "stream">, signal?: AbortSignal): Promise<AIMessageChunk[]> {
  const chunks: AIMessageChunk[] = [];
  for await (const chunk of await model.stream("hello", signal === undefined ? {} : { signal })) chunks.push(chunk);
  return chunks;
}

async function failure(work: Promise<unknown>, model: BaseChatModel): Promise<AppError> {
  try {
    await work;
  } catch (error) {
    return toModelError(error, modelTarget(model));
  }
  throw new Error("the call was expected to fail");
}

const weather = {
  type: "function",
  function: {
    name: "weather",
    description: "d",
    parameters: { type: "object", properties: { city: { type: "string" } } },
  },
} as const;

describe.each<Protocol>(["openai", "ollama"])("the %s client", (protocol) => {
  it("answers with text and usage, as a whole and streamed", async () => {
    const step: ModelStep = { text: "Hello there, friend.", usage: { input: 11, output: 3 } };
    const server = await serve(step, step);
    const model = client(protocol, server.ollamaUrl);
    const whole = await model.invoke("hello");
    expect(whole.content).toBe("Hello there, friend.");
    expect(whole.usage_metadata).toMatchObject({ input_tokens: 11, output_tokens: 3, total_tokens: 14 });
    const chunks = await streamed(model);
    expect(chunks.filter((chunk) => chunk.content !== "").map((chunk) => chunk.content)).toEqual([
      "Hello",
      " there,",
      " friend.",
    ]);
    const sum = chunks.reduce((left, right) => concat(left, right));
    expect(sum.usage_metadata).toMatchObject({ input_tokens: 11, output_tokens: 3, total_tokens: 14 });
    server.assertFinished();
  });

  it("reads reasoning apart from the text", async () => {
    const server = await serve({ reasoning: "Let me think.", text: "Done." });
    const sum = (await streamed(client(protocol, server.ollamaUrl))).reduce((left, right) => concat(left, right));
    expect(sum.content).toBe("Done.");
    expect(sum.additional_kwargs["reasoning_content"]).toBe("Let me think.");
  });

  it("calls two tools at once and sends their results back", async () => {
    const calls = [
      { name: "weather", arguments: { city: "Oslo" } },
      { name: "weather", arguments: { city: "北京" } },
    ];
    const server = await serve({ toolCalls: calls }, { toolCalls: calls }, { text: "Cold and dry." });
    const model = client(protocol, server.ollamaUrl);
    const bound = model.bindTools?.([weather]);
    if (bound === undefined) throw new Error("the client cannot bind tools");
    const asked = (await streamed(bound)).reduce((left, right) => concat(left, right));
    expect(asked.tool_calls?.map((call) => [call.name, call.args])).toEqual(
      calls.map((call) => [call.name, call.arguments]),
    );
    const whole = await bound.invoke("hello");
    const answer = await bound.invoke([
      new HumanMessage("weather?"),
      new AIMessage({ content: "", tool_calls: whole.tool_calls ?? [] }),
      ...(whole.tool_calls ?? []).map((call) => new ToolMessage({ tool_call_id: call.id ?? "", content: "4 degrees" })),
    ]);
    expect(answer.content).toBe("Cold and dry.");
    expect(server.requests[2]?.messages.map((message) => message.role)).toEqual(["user", "assistant", "tool", "tool"]);
    expect(server.requests[2]?.toolNames).toEqual(["weather"]);
    server.assertFinished();
  });

  it.each<[string, ModelStep, string, boolean]>([
    ["a reset connection", { fault: { kind: "reset" } }, "network", true],
    ["401", { fault: { kind: "status", status: 401, message: "bad key sk-test-1234567" } }, "auth", false],
    ["403", { fault: { kind: "status", status: 403 } }, "auth", false],
    ["402", { fault: { kind: "status", status: 402, message: "no money" } }, "quota", false],
    ["429", { fault: { kind: "status", status: 429, retryAfter: "2" } }, "rate_limit", true],
    [
      "429 without credit",
      { fault: { kind: "status", status: 429, message: "You exceeded your current quota" } },
      "quota",
      false,
    ],
    ["404 for the model", { fault: { kind: "status", status: 404, message: "model not found" } }, "not_found", false],
    ["500", { fault: { kind: "status", status: 500 } }, "server", true],
    ["529", { fault: { kind: "status", status: 529 } }, "server", true],
    ["408", { fault: { kind: "status", status: 408 } }, "timeout", true],
    ["400", { fault: { kind: "status", status: 400, message: "strange field" } }, "api_error", false],
    [
      "400 without tool support",
      { fault: { kind: "status", status: 400, message: "x does not support tools" } },
      "unavailable_tool_mode",
      false,
    ],
    [
      "400 for a long context",
      {
        fault: {
          kind: "status",
          status: 400,
          message: "This model's maximum context length is 10 tokens",
          code: "context_length_exceeded",
        },
      },
      "context_overflow",
      false,
    ],
    ["a broken connection in mid-stream", { text: "one two three", fault: { kind: "cut", after: 2 } }, "network", true],
    [
      "an answer that just stops",
      { text: "one two three", fault: { kind: "cut", after: 2, clean: true } },
      "network",
      true,
    ],
    [
      "a call cut in the middle",
      { toolCalls: [{ name: "weather", arguments: '{"city":"Os' }], fault: { kind: "cut", after: 1, clean: true } },
      "network",
      true,
    ],
  ])("names %s", async (_name, step, code, recoverable) => {
    const server = await serve(step, step);
    const model = client(protocol, server.ollamaUrl);
    const error = await failure(streamed(model), model);
    expect([error.code, error.recoverable]).toEqual([code, recoverable]);
    expect(error.suggestion).not.toBe(undefined);
    expect(`${error.message} ${error.suggestion}`).not.toContain("1234567");
    if (step.fault?.kind !== "status") return;
    expect((await failure(model.invoke("hello"), model)).code).toBe(code);
  });

  it("names the address of a server that refuses connections", async () => {
    const address = await refusingAddress();
    const model = client(protocol, address);
    const error = await failure(model.invoke("hello"), model);
    expect(error.code).toBe("network");
    expect(error.message).toContain(address);
    if (protocol === "ollama") expect(error.suggestion).toContain("ollama serve");
  });

  it("ends a call that is never answered with its signal", async () => {
    const server = await startModelServer({ handler: () => ({ fault: { kind: "hang" } }) });
    servers.push(server);
    const model = client(protocol, server.ollamaUrl);
    const error = await failure(streamed(model, AbortSignal.timeout(50)), model);
    expect(["cancelled", "timeout"]).toContain(error.code);
  });

  it("ends a stream that stalls with its signal, and keeps what came before", async () => {
    const server = await serve({ text: "one two three", fault: { kind: "stall", after: 2 } });
    const model = client(protocol, server.ollamaUrl);
    const stop = new AbortController();
    let text = "";
    const read = async (): Promise<void> => {
      for await (const chunk of await model.stream("hello", { signal: stop.signal })) {
        text += chunk.text;
        if (text === "one two") stop.abort();
      }
    };
    const error = await failure(read(), model);
    expect(error.code).toBe("cancelled");
    expect(text).toBe("one two");
  });
});

it("reads a malformed stream of OpenAI as a broken answer", async () => {
  const server = await serve({ text: "one two", fault: { kind: "malformed" } });
  const model = client("openai", server.ollamaUrl);
  const error = await failure(streamed(model), model);
  expect(error.code).toBe("server");
  expect(error.message).toContain("cannot be read");
});

it("keeps tool arguments that are not JSON apart from the valid calls", async () => {
  const server = await serve({ toolCalls: [{ name: "weather", arguments: "{city: Oslo" }] });
  const answer = await client("openai", server.ollamaUrl).invoke("hello");
  expect(answer.tool_calls).toEqual([]);
  expect(answer.invalid_tool_calls).toMatchObject([{ name: "weather", args: "{city: Oslo" }]);
});

it("says of a missing Ollama model how to pull it", async () => {
  const server = await serve({ fault: { kind: "status", status: 404, message: "model 'scripted' not found" } });
  const model = client("ollama", server.ollamaUrl);
  expect((await failure(model.invoke("hello"), model)).suggestion).toContain("ollama pull scripted");
});
