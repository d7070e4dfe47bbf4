import { isAIMessage, isToolMessage, type BaseMessage } from "@langchain/core/messages";
import { afterEach, expect, it } from "vitest";
import { loadConfig } from "@millrace/engine/config/config";
import { createModel } from "@millrace/models/load-model";
import { startWorkflow, type TestWorkflow } from "../../support/workflow.ts";
import { towards, wire, wireOf } from "./vendor-model.ts";

const flows: TestWorkflow[] = [];

afterEach(async () => {
  await Promise.all(flows.splice(0).map(async (flow) => await flow.close()));
});

/** What a session keeps of a message; ids are the server's own, but what belongs together has to. */
function kept(message: BaseMessage, index: number, all: readonly BaseMessage[]): object {
  const calls = isAIMessage(message) ? (message.tool_calls ?? []) : [];
  const asked = all.flatMap((other) => (isAIMessage(other) ? (other.tool_calls ?? []) : []));
  return {
    type: message.type,
    words: message.text,
    thoughts: message.additional_kwargs["reasoning_content"],
    calls: calls.map(({ name, args }) => ({ name, args })),
    result: isToolMessage(message)
      ? [message.name, message.status, asked.find(({ id }) => id === message.tool_call_id)?.args]
      : [],
    hasOwnId: message.id !== undefined && all.findIndex(({ id }) => id === message.id) === index,
    used: isAIMessage(message) ? Object(message.usage_metadata).total_tokens : undefined,
  };
}

async function historyOf(model: string, file: string, stream: boolean): Promise<object[]> {
  const script = ["call", "parallel", "answer"].map((part) => ({
    wire: stream ? wireOf(file, part) : wire(`${file}-${part === "call" ? "whole" : part}.json`),
  }));
  const files = { "notes.txt": "a.txt and b.txt\n", "a.txt": "1\n", "b.txt": "3\n" };
  const flow = await startWorkflow({ script, files, stream });
  flows.push(flow);
  const config = loadConfig({ ZHIPU_API_KEY: "k", DEEPSEEK_API_KEY: "k", DASHSCOPE_API_KEY: "k" });
  flow.services.loadModel = (name, options) =>
    typeof name === "string" ? createModel(name, { ...options, fetch: towards(flow.model) }, config) : name;
  flow.services.defaultModel = model;
  const { messages } = await flow.send("What does notes.txt say?", { limits: { max_force_continue: 0 } });
  flow.model.assertFinished();
  return messages.map(kept);
}

it("is the same conversation in the history, in which form ever it came, streamed or not", async () => {
  const glm = await historyOf("zhipu:glm-4.7", "glm", true);
  const read = (path: string): object => ({ name: "read_file", args: { path } });
  expect(glm).toMatchObject([
    { type: "human", words: "What does notes.txt say?" },
    { type: "ai", words: "", thoughts: "I have to read the file.", calls: [read("notes.txt")], used: 340 },
    { type: "tool", words: expect.stringContaining("a.txt and b.txt"), result: ["read_file", "success", {}] },
    {
      type: "ai",
      words: "I look into both.",
      thoughts: "It names two others.",
      calls: [read("a.txt"), read("b.txt")],
      hasOwnId: true,
    },
    { type: "tool", words: expect.stringContaining("1"), result: ["read_file", "success", { path: "a.txt" }] },
    { type: "tool", words: expect.stringContaining("3"), result: ["read_file", "success", { path: "b.txt" }] },
    { type: "ai", words: "The file says: 4.", thoughts: "It says four.", calls: [], hasOwnId: true },
  ]);
  expect(await historyOf("zhipu:glm-4.7", "glm", false)).toEqual(glm);
  for (const isStreamed of [true, false]) {
    expect(await historyOf("deepseek:deepseek-reasoner", "deepseek", isStreamed)).toEqual(glm);
    expect(await historyOf("qwen:qwen-plus", "qwen", isStreamed)).toEqual(glm);
    expect(await historyOf("ollama:qwen3:8b", "ollama", isStreamed)).toEqual(glm);
  }
});

it.each([
  [true, 25],
  [false, 25],
  // A note stands behind the results.
  [false, 1],
])(
  "holds the sealed thoughts of a turn while it lasts, which go back with its results (streamed: %s, warned from iteration %i)",
  async (stream, soft_warning_at) => {
    const script = [{ wire: wire(`openai-sealed.${stream ? "sse" : "json"}`) }, { text: "1 and 3." }, { text: "Bye." }];
    const flow = await startWorkflow({ script, files: { "a.txt": "1\n", "b.txt": "3\n" }, stream });
    flows.push(flow);
    const config = loadConfig({ OPENAI_API_KEY: "k" });
    flow.services.loadModel = (name, options) =>
      typeof name === "string" ? createModel(name, { ...options, fetch: towards(flow.model) }, config) : name;
    flow.services.defaultModel = "openai:gpt-5-codex";
    const limits = { max_force_continue: 0, soft_warning_at };
    const { messages } = await flow.send("What do a.txt and b.txt say?", { limits });
    expect(messages.at(-1)?.text).toBe("1 and 3.");
    // They have no reader after the turn.
    expect(JSON.stringify(messages)).not.toContain("gAAAAABo");
    await flow.send("Thanks", { limits });
    flow.model.assertFinished();
    const sealed = flow.model.requests.map(({ raw }) => raw.match(/gAAAAABo-\w+/gu));
    expect(sealed).toEqual([null, ["gAAAAABo-first", "gAAAAABo-second"], null]);
  },
);
