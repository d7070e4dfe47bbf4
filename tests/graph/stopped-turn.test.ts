import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import { afterEach, expect, it } from "vitest";
import { workflow } from "../../src/graph/workflow.ts";
import { servicesKey } from "../../src/loop/services.ts";
import { wireText } from "@millrace/testing/model-server";
import { startWorkflow, type TestWorkflow } from "../support/workflow.ts";
import { compress } from "../../src/prompts/templates/compress.ts";
import { hasPrompt } from "../support/system-text.ts";
import { keepTurn } from "../../src/agent-runs/keep-turn.ts";
import { runRecord } from "../contract/records.ts";

let running: TestWorkflow | undefined;
afterEach(async () => {
  await running?.close();
  running = undefined;
});

it.each([
  ["with room in the window", 100_000],
  ["after the compression that is due first", 2000],
])("a run that brings nothing new tries a stopped turn again, %s", async (_, contextLimit) => {
  running = await startWorkflow({
    contextLimit,
    handler: ({ messages }) =>
      hasPrompt(messages.map(wireText).join("\n"), compress)
        ? { text: '{"goal":"learn"}' }
        : { text: "Here I am again." },
  });
  const graph = workflow.compile({ checkpointer: new MemorySaver() });
  const config = { configurable: { thread_id: "stopped", run_id: "run-1", [servicesKey]: running.services } };
  const earlier = [1, 2, 3].flatMap((at) => [new HumanMessage(`tell me ${at}`), new AIMessage("word ".repeat(600))]);
  const request = new HumanMessage("Hello there, and who are you?");
  const stopped = new AIMessage({
    content: "I was stopped.",
    additional_kwargs: { end_reason: "cancelled", stop_reason: "user_requested" },
  });
  await graph.updateState(config, { messages: [...earlier, request, stopped] }, "__start__");
  await graph.updateState(config, null, "__end__");
  const { conversation_summary, messages } = await graph.invoke({ messages: [] }, config);
  expect(conversation_summary?.goal).toBe(contextLimit === 2000 ? "learn" : undefined);
  expect(messages.slice(-2).map(({ text }) => text)).toEqual([request.text, "Here I am again."]);
});

it("a turn that was stopped before its first step keeps the message in a state of its own", async () => {
  running = await startWorkflow({ handler: () => ({ text: "No." }) });
  const saver = new MemorySaver();
  const put = saver.put.bind(saver);
  saver.put = async (config, checkpoint, metadata) => {
    if (metadata.source === "loop") throw new Error("the first step ends here");
    return await put(config, checkpoint, metadata);
  };
  const graph = workflow.compile({ checkpointer: saver });
  const { services } = running;
  const config = { configurable: { thread_id: "stopped", run_id: "run-1", [servicesKey]: services } };
  const input = { messages: [{ type: "human", id: "m1", content: "Hello" }] };
  await expect(graph.invoke(input, config)).rejects.toThrow("the first step ends here");
  saver.put = put;
  const run = runRecord("run-1", "stopped");
  await keepTurn({ graph, run: { ...run, kwargs: { ...run.kwargs, input } }, services, reason: "user_requested" });
  const states: string[][] = [];
  for await (const { values } of graph.getStateHistory(config)) {
    const { messages = [] } = values as { messages?: AIMessage[] }; // what the workflow keeps there
    states.unshift(messages.map(({ text }) => text));
  }
  expect(states).toEqual([[], ["Hello"], ["Hello", "I was stopped."], ["Hello", "I was stopped."]]);
});
