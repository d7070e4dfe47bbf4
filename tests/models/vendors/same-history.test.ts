import { isAIMessage, isToolMessage, type BaseMessage } from "@langchain/core/messages";
import { afterEach, expect, it } from "vitest";
import { loadConfig } from "../../../src/config.ts";
import { createModel } from "../../../src/models/load-model.ts";
import { startWorkflow, type TestWorkflow } from "../../support/workflow.ts";
import { towards, wire } from "./vendor-model.ts";

const flows: TestWorkflow[] = [];

afterEach(async () => {
  await Promise.all(flows.splice(0).map(async (flow) => await flow.close()));
});

/** What a session keeps of a message; ids are the server's own. */
function kept(message: BaseMessage): object {
  return {
    type: message.type,
    words: message.text,
    thoughts: message.additional_kwargs["reasoning_content"],
    calls: isAIMessage(message) ? (message.tool_calls ?? []).map(({ name, args }) => ({ name, args })) : [],
    result: isToolMessage(message) ? [message.name, message.status] : [],
  };
}

async function historyOf(model: string, file: string, stream: boolean): Promise<object[]> {
  const ending = file === "ollama" ? "ndjson" : "sse";
  const script = ["call", "answer"].map((part) => ({ wire: wire(`${file}-${part}.${ending}`) }));
  const flow = await startWorkflow({ script, files: { "notes.txt": "4\n" }, stream });
  flows.push(flow);
  const config = loadConfig({ ZHIPU_API_KEY: "k", DEEPSEEK_API_KEY: "k", DASHSCOPE_API_KEY: "k" });
  flow.services.loadModel = (name, options) =>
    typeof name === "string" ? createModel(name, { ...options, fetch: towards(flow.model) }, config) : name;
  flow.services.defaultModel = model;
  const { messages } = await flow.send("What does notes.txt say?");
  flow.model.assertFinished();
  return messages.map(kept);
}

it("is the same conversation in the history, in which form ever it came", async () => {
  const glm = await historyOf("zhipu:glm-4.7", "glm", true);
  expect(glm.map((message) => ("type" in message ? message.type : ""))).toEqual(["human", "ai", "tool", "ai"]);
  expect(glm[1]).toMatchObject({ thoughts: "I have to read the file." });
  expect(glm[1]).toMatchObject({ calls: [{ name: "read_file", args: { path: "notes.txt" } }] });
  expect(glm[3]).toMatchObject({ words: "The file says: 4.", thoughts: "It says four." });
  expect(await historyOf("deepseek:deepseek-reasoner", "deepseek", true)).toEqual(glm);
  expect(await historyOf("qwen:qwen-plus", "qwen", true)).toEqual(glm);
  expect(await historyOf("ollama:qwen3:8b", "ollama", true)).toEqual(glm);
});
