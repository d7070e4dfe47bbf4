import { HumanMessage, type AIMessageChunk } from "@langchain/core/messages";
import { concat } from "@langchain/core/utils/stream";
import { afterEach, describe, expect, it } from "vitest";
import { loadConfig } from "@millrace/engine/config/config";
import { createModel, modelTarget } from "@millrace/models/load-model";
import { TextCallModel } from "@millrace/models/text-calls/text-call-model";
import { startModelServer, wireText, type ModelServer, type ModelStep } from "@millrace/testing/model-server";
import { invoke } from "./replies.ts";

let server: ModelServer;
afterEach(() => server.close());

const tool = {
  type: "function",
  function: {
    name: "weather",
    description: "Reports the weather.",
    parameters: {
      type: "object",
      properties: {
        city: { type: "string", description: "Where" },
        days: { type: "integer", description: "How many" },
      },
      required: ["city"],
    },
  },
} as const;

/** A model of OpenAI's protocol that writes its calls. */
async function start(grammar: "invoke" | "tags", ...script: ModelStep[]): Promise<TextCallModel> {
  server = await startModelServer({ script });
  const config = loadConfig({ OPENAI_BASE_URL: server.url, OPENAI_API_KEY: "key" });
  return new TextCallModel(createModel("openai:scripted", {}, config), { grammar });
}

async function streamed(model: Pick<TextCallModel, "stream">): Promise<AIMessageChunk[]> {
  const chunks: AIMessageChunk[] = [];
  for await (const chunk of await model.stream([new HumanMessage("Weather?")])) chunks.push(chunk);
  return chunks;
}

const reply = `<think>Hm.</think>Let me look.\n${invoke("weather", { city: "Oslo", days: "3" })}`;

describe("a model that writes its calls", () => {
  it("gives the same message as a whole and streamed, with usage and the reason of its end", async () => {
    const step: ModelStep = { text: reply, usage: { input: 5, output: 7 } };
    const model = await start("invoke", step, step);
    const bound = model.bindTools([tool]);
    const whole = await bound.invoke("Weather?");
    const sum = (await streamed(bound)).reduce((left, right) => concat(left, right));
    for (const message of [whole, sum]) {
      expect(message.content).toBe("Let me look.\n");
      expect(message.additional_kwargs["reasoning_content"]).toBe("Hm.");
      expect(message.tool_calls).toMatchObject([{ name: "weather", args: { city: "Oslo", days: 3 } }]);
      expect(message.tool_calls?.[0]?.id).toMatch(/^call_[0-9a-f]{32}$/u);
      expect(message.usage_metadata).toMatchObject({ input_tokens: 5, output_tokens: 7 });
      expect(message.response_metadata["finish_reason"]).toBe("stop");
    }
    expect(server.requests[0]?.toolNames).toEqual([]);
  });

  it.each([
    ["invoke", '<invoke name="weather">'],
    ["tags", "<weather>\n<city>"],
  ] as const)("gets its tools in the form it writes (%s)", async (grammar, sample) => {
    const model = await start(grammar, { text: "None." });
    await model.bindTools([tool]).invoke("Weather?");
    const system = wireText(server.requests[0]?.messages[0] ?? { role: "none" });
    expect(system).toContain(sample);
    expect(system).toContain("- city (required): Where");
    expect(system).toContain('- days (optional): How many {"type":"integer"}');
  });

  it("gets no text about tools where it has none, and of a forced one alone", async () => {
    const model = await start("invoke", { text: "a" }, { text: "b" });
    await model.invoke("Weather?");
    expect(server.requests[0]?.messages).toHaveLength(1);
    const other = { ...tool, function: { ...tool.function, name: "other" } };
    await model.bindTools([tool, other], { tool_choice: "other" }).invoke("Weather?");
    const system = wireText(server.requests[1]?.messages[0] ?? { role: "none" });
    expect(system.match(/^### .*/gmu)).toEqual(["### other"]);
  });

  it("never gives half a call as a call", async () => {
    const half = { text: reply.slice(0, -30), finishReason: "length" };
    const model = await start("invoke", half, half);
    const bound = model.bindTools([tool]);
    const whole = await bound.invoke("Weather?");
    expect([whole.tool_calls, whole.invalid_tool_calls?.map(({ name }) => name)]).toEqual([[], ["weather"]]);
    const sum = (await streamed(bound)).reduce((left, right) => concat(left, right));
    expect([sum.tool_calls, sum.invalid_tool_calls?.map(({ name }) => name)]).toEqual([[], ["weather"]]);
    expect(sum.response_metadata["finish_reason"]).toBe("length");
  });

  it("keeps calls that the server found by itself beside its own", async () => {
    const step = {
      text: invoke("weather", { city: "Oslo" }),
      toolCalls: [{ name: "weather", arguments: { city: "Rome" } }],
    };
    const bound = (await start("invoke", step)).bindTools([tool]);
    const sum = (await streamed(bound)).reduce((left, right) => concat(left, right));
    expect(sum.tool_calls?.map(({ args }) => args["city"]).toSorted()).toEqual(["Oslo", "Rome"]);
  });

  it("sends words on as they come", async () => {
    const bound = (await start("invoke", { chunks: ["One ", "two ", "<b", ">", " three"] })).bindTools([tool]);
    const texts = (await streamed(bound)).map(({ text }) => text).filter((text) => text !== "");
    expect(texts).toEqual(["One ", "two ", "<b", ">", " three"]);
  });

  it("is what a loader makes of a model whose profile says so, and errors know it", async () => {
    server = await startModelServer();
    const config = loadConfig({ OLLAMA_BASE_URL: server.ollamaUrl });
    const model = createModel("ollama:deepseek-coder:6.7b", {}, config);
    expect(model).toBeInstanceOf(TextCallModel);
    expect(modelTarget(model)?.name).toBe("ollama:deepseek-coder:6.7b");
    expect(createModel("ollama:qwen2.5:7b", {}, config)).not.toBeInstanceOf(TextCallModel);
  });
});
