import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { HumanMessage, type AIMessageChunk } from "@langchain/core/messages";
import { concat } from "@langchain/core/utils/stream";
import { afterEach, describe, expect, it } from "vitest";
import { loadConfig } from "@millrace/engine/config/config";
import { createModel } from "@millrace/models/load-model";
import { startModelServer, type ModelServer } from "@millrace/testing/model-server";
import { deepseek, dsml } from "../text-calls/replies.ts";
import { vendorModel, wire, wireOf } from "./vendor-model.ts";

const servers: ModelServer[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map(async (server) => await server.close()));
});

const tool = {
  type: "function",
  function: {
    name: "read_file",
    description: "d",
    parameters: { type: "object", properties: { path: { type: "string" }, lines: { type: "array" } } },
  },
};

/** A model as runs have it; `own:` is on a server of the user's own. */
function modelOf(name: string, server: ModelServer): BaseChatModel {
  if (name.startsWith("own:")) {
    const config = loadConfig({ OPENAI_BASE_URL: server.url, OPENAI_API_KEY: "test-key" });
    return createModel(name.replace("own:", "openai:"), {}, config);
  }
  if (!name.startsWith("ollama:")) return vendorModel(name, server);
  return createModel(name, {}, loadConfig({ OLLAMA_BASE_URL: server.ollamaUrl }));
}

/** The message that a vendor's bytes become, and each text that is streamed to the user. */
async function read(name: string, bytes: string): Promise<{ sum: AIMessageChunk; texts: string[] }> {
  const server = await startModelServer({ script: [{ wire: bytes }] });
  servers.push(server);
  const bound = modelOf(name, server).bindTools?.([tool]) ?? expect.unreachable();
  const chunks: AIMessageChunk[] = [];
  for await (const chunk of await bound.stream([new HumanMessage("What is in notes.txt?")])) chunks.push(chunk);
  return {
    sum: chunks.reduce((left, right) => concat(left, right)),
    texts: chunks.map(({ text }) => text).filter((text) => text !== ""),
  };
}

/** The recorded answer of a vendor with other words. */
function saying(file: string, words: string): string {
  const inJson = JSON.stringify(words).slice(1, -1);
  const bytes = wireOf(file, "answer").replace("The file ", () => inJson);
  expect(bytes).toContain(inJson);
  return bytes;
}

const hermes = '<tool_call>\n{"name": "read_file", "arguments": {"path": "notes.txt"}}\n</tool_call>';
const mistral = '[TOOL_CALLS]read_file[ARGS]{"path": "notes.txt"}';
const marks = deepseek.all(deepseek.short("read_file", '{"path": "notes.txt"}'));
const markup = dsml.all(dsml.call("read_file", { path: "notes.txt" }));

describe("calls in the words", () => {
  it.each([
    ["zhipu:glm-4.7", "glm", hermes],
    ["siliconflow:deepseek-ai/DeepSeek-V3.2", "siliconflow", markup],
    ["siliconflow:Qwen/Qwen3-8B", "siliconflow", hermes],
    ["deepseek:deepseek-chat", "deepseek", markup],
    ["deepseek:deepseek-reasoner", "deepseek", markup.replaceAll("function_calls", "tool_calls")],
    ["deepseek:deepseek-chat", "deepseek", marks],
    ["qwen:qwen-plus", "qwen", hermes],
    ["ollama:mistral:7b", "ollama", mistral],
    ["own:DeepSeek-V3.2", "compatible", markup],
    ["own:mistral-small", "mistral", mistral],
  ])("of %s are calls, and their text is not streamed (%s)", async (name, file, form) => {
    const { sum, texts } = await read(name, saying(file, `So: ${form}`));
    expect(sum.tool_calls).toMatchObject([{ name: "read_file", args: { path: "notes.txt" } }]);
    expect(texts.join("")).toBe("So: says: 4.");
  });

  it("of openai:gpt-4o-mini are words: none of its models writes its calls so", async () => {
    expect((await read("openai:gpt-4o-mini", saying("openai", markup))).sum).toMatchObject({
      content: `${markup}says: 4.`,
      tool_calls: [],
    });
  });

  it("of DeepSeek's markup are calls while they stream, token by token, with each value in its type", async () => {
    const { sum, texts } = await read("deepseek:deepseek-chat", wire("deepseek-dsml.sse"));
    expect(sum.tool_calls).toMatchObject([
      { name: "read_file", args: { path: "notes.txt" } },
      { name: "read_file", args: { path: "b.txt", lines: [1, 20] } },
    ]);
    expect(sum.invalid_tool_calls ?? []).toEqual([]);
    expect(texts).toEqual(["I look at ", "both.", "\n\n"]);
    expect(sum.usage_metadata).toMatchObject({ input_tokens: 300, output_tokens: 40 });
  });

  it("of DeepSeek's markup that breaks off are no calls, and their text is not streamed", async () => {
    const bytes = wire("deepseek-dsml.sse");
    const cut = bytes.slice(0, bytes.indexOf("20]")).split("\n\n").slice(0, -1);
    const end = bytes.slice(bytes.lastIndexOf('data: {"id"'));
    const { sum, texts } = await read("deepseek:deepseek-chat", [...cut, end].join("\n\n"));
    expect(sum.tool_calls).toMatchObject([{ args: { path: "notes.txt" } }]);
    expect(sum.invalid_tool_calls).toMatchObject([{ name: "read_file" }]);
    expect(texts).toEqual(["I look at ", "both.", "\n\n"]);
  });
});

describe("thoughts in the words", () => {
  const think = (text: string): string => `<think>${text}</think>\n\n`;
  const bracketed = (text: string): string => `[THINK]${text}[/THINK]`;

  it.each([
    ["openai:gpt-4o-mini", "openai", think, ""],
    ["zhipu:glm-4.7", "glm", think, "It says four."],
    ["siliconflow:Qwen/Qwen3-8B", "siliconflow", think, "It says four."],
    ["siliconflow:mistralai/Magistral-Small-2506", "siliconflow", bracketed, "It says four."],
    ["deepseek:deepseek-chat", "deepseek", think, "It says four."],
    ["qwen:qwen-plus", "qwen", think, "It says four."],
    ["ollama:magistral:24b", "ollama", bracketed, "It says four."],
    ["own:qwen3-8b", "compatible", think, "It says four."],
    ["own:Magistral-Small-2507", "compatible", bracketed, "It says four."],
    ["own:magistral-medium-latest", "mistral", bracketed, "It says four."],
  ])("of %s are thoughts, behind those that come apart (%s)", async (name, file, form, apart) => {
    const { sum, texts } = await read(name, saying(file, `${form("So it is.")}The file `));
    expect(texts.join("")).toBe("The file says: 4.");
    expect(sum.additional_kwargs["reasoning_content"]).toBe(`${apart}So it is.`);
  });

  it("of Mistral's form stay words where no model of Mistral's writes them", async () => {
    const { texts } = await read("own:qwen3-8b", saying("compatible", "[THINK]Hm.[/THINK]"));
    expect(texts.join("")).toBe("[THINK]Hm.[/THINK]says: 4.");
  });
});
