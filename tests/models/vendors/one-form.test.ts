import {
  HumanMessage,
  mapChatMessagesToStoredMessages,
  mapStoredMessagesToChatMessages,
  ToolMessage,
  type AIMessage,
  type AIMessageChunk,
} from "@langchain/core/messages";
import { concat } from "@langchain/core/utils/stream";
import { convertMessagesToCompletionsMessageParams } from "@langchain/openai";
import { afterEach, describe, expect, it } from "vitest";
import { loadConfig } from "@millrace/engine/config/config";
import { usageOf } from "../../../src/loop/reply/reply-message.ts";
import { providers } from "@millrace/models/index";
import { createModel, modelTarget } from "@millrace/models/load-model";
import { ModelRegistry } from "@millrace/models/registry/registry";
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

const question = [new HumanMessage("What is in notes.txt?")];
const vendors = [
  ["openai:gpt-4o-mini", "openai", "gpt-4o-mini-2024-07-18"],
  ["zhipu:glm-4.7", "glm", "glm-4.7"],
  ["siliconflow:deepseek-ai/DeepSeek-R1", "siliconflow", "deepseek-ai/DeepSeek-R1"],
  ["deepseek:deepseek-reasoner", "deepseek", "deepseek-reasoner"],
  ["qwen:qwen-plus", "qwen", "qwen-plus"],
  ["ollama:qwen3:8b", "ollama", "qwen3:8b"],
] as const;

/** The form that every vendor's answer gets (table 18.9), in LangChain's words. */
function formOf(message: AIMessage | AIMessageChunk): object {
  const { total_tokens, input_tokens, output_tokens, input_token_details } = usageOf(message) ?? {};
  const { finish_reason, done_reason, model_name, model } = message.response_metadata;
  return {
    content: message.text,
    reasoning_content: message.additional_kwargs["reasoning_content"] ?? "",
    tool_calls: (message.tool_calls ?? []).map(({ name, args }) => ({ name, args })),
    usage: [total_tokens, input_tokens, output_tokens, input_token_details?.cache_read],
    hasEnded: typeof (finish_reason ?? done_reason) === "string",
    model: model_name ?? model,
  };
}

describe("an answer has one form, from any vendor (LLM-02)", () => {
  it.each(vendors)("of %s, as a whole and summed up from its pieces", async (name, file, model) => {
    const server = await serve({ wire: wire(`${file}-whole.json`) }, { wire: wireOf(file, "call") });
    const client = vendorModel(name, server);
    const thinks = file !== "openai";
    const cached = file === "siliconflow" ? undefined : 128;
    const form = {
      content: "",
      reasoning_content: thinks ? "I have to read the file." : "",
      tool_calls: [{ name: "read_file", args: { path: "notes.txt" } }],
      usage: [340, 300, 40, cached],
      hasEnded: true,
      model,
    };
    expect(formOf(await client.invoke(question))).toEqual(form);
    const chunks: AIMessageChunk[] = [];
    for await (const chunk of await client.stream(question)) chunks.push(chunk);
    expect(formOf(chunks.reduce((left, right) => concat(left, right)))).toEqual(form);
    const written = chunks
      .flatMap(({ tool_call_chunks = [] }) => tool_call_chunks.map(({ args = "" }) => args))
      .join("");
    expect(JSON.parse(written)).toEqual({ path: "notes.txt" });
    server.assertFinished();
  });

  it("which is written as data, and read again, and in OpenAI's words", async () => {
    const server = await serve({ wire: wire("deepseek-whole.json") });
    const answer = await vendorModel("deepseek:deepseek-reasoner", server).invoke(question);
    const data: unknown = JSON.parse(JSON.stringify(mapChatMessagesToStoredMessages([answer])));
    const [again] = mapStoredMessagesToChatMessages(data as ReturnType<typeof mapChatMessagesToStoredMessages>);
    // Usage is kept beside (`llm_metadata`), since LangChain's data has no place for it.
    const without = { ...formOf(answer), usage: [undefined, undefined, undefined, undefined] };
    expect(formOf(again as AIMessage)).toEqual(without);
    const result = new ToolMessage({ tool_call_id: "call_1", content: "4" });
    expect(convertMessagesToCompletionsMessageParams({ messages: [answer, result] })).toMatchObject([
      {
        role: "assistant",
        tool_calls: [{ id: "call_1", function: { name: "read_file", arguments: '{"path":"notes.txt"}' } }],
      },
      { role: "tool", tool_call_id: "call_1", content: "4" },
    ]);
  });

  it("and vendors are found by their names, listed, and unknown ones refused with the list", () => {
    const registry = new ModelRegistry(loadConfig({}));
    expect(registry.providerNames()).toEqual(Object.keys(providers));
    for (const name of registry.providerNames()) expect(registry.provider(name)?.name).toBe(name);
    const model = createModel("zhipu:glm-4.7", {}, loadConfig({ ZHIPU_API_KEY: "k" }));
    expect(modelTarget(model)?.name).toBe("zhipu:glm-4.7");
    expect(() => registry.reach("unknown:x")).toThrow(expect.objectContaining({ code: "invalid_parameter" }));
    expect(() => registry.reach("unknown:x")).toThrow("openai, zhipu, siliconflow, deepseek, qwen, ollama");
  });
});

describe("a vendor is reached", () => {
  it.each([
    ["openai:gpt-4o-mini", "https://api.openai.com/v1/chat/completions"],
    ["zhipu:glm-4.7", "https://open.bigmodel.cn/api/paas/v4/chat/completions"],
    ["siliconflow:Pro/deepseek-ai/DeepSeek-R1", "https://api.siliconflow.cn/v1/chat/completions"],
    ["deepseek:deepseek-chat", "https://api.deepseek.com/v1/chat/completions"],
    ["qwen:qwen-plus", "https://dashscope.aliyuncs.com/compatible-mode/v1/chat/completions"],
  ])(
    "for %s at %s, with its key as the bearer and the name as it was typed (LLM-04, LLM-13)",
    async (name, address) => {
      const keys = ["OPENAI", "ZHIPU", "SILICONFLOW", "DEEPSEEK", "DASHSCOPE"].map((vendor) => [
        `${vendor}_API_KEY`,
        "k-1",
      ]);
      const requests: { url: string; key: string | null; model: unknown }[] = [];
      const model = createModel(
        name,
        {
          fetch: (input, init) => {
            const request = new Request(input, init);
            const body: unknown = JSON.parse(typeof init?.body === "string" ? init.body : "{}");
            requests.push({ url: request.url, key: request.headers.get("authorization"), model: Object(body).model });
            return Promise.resolve(
              new Response(wire("openai-whole.json"), { headers: { "content-type": "application/json" } }),
            );
          },
        },
        loadConfig(Object.fromEntries(keys)),
      );
      await model.invoke(question);
      expect(requests).toEqual([{ url: address, key: "Bearer k-1", model: name.slice(name.indexOf(":") + 1) }]);
    },
  );
});
