import { AIMessage, ToolMessage } from "@langchain/core/messages";
import { END, MessagesValue, START, StateGraph, StateSchema } from "@langchain/langgraph";
import { z } from "zod";

const Counter = new StateSchema({ left: z.number().default(0) });

/** A node that counts down and does nothing else: `left` supersteps. */
export const countdown = new StateGraph(Counter)
  .addNode("step", (state) => ({ left: state.left - 1 }))
  .addEdge(START, "step")
  .addConditionalEdges("step", (state) => (state.left > 0 ? "step" : END), ["step", END]);

const Talk = new StateSchema({ messages: MessagesValue, left: z.number().default(0) });

/** A loop of a model and a tool without either: `left` tool steps with results of 2 KB. */
export const toolSteps = new StateGraph(Talk)
  .addNode("model", (state) => {
    const id = `call_${state.left}`;
    const call = { id, name: "read", args: { path: `file-${state.left}.txt` }, type: "tool_call" as const };
    return { messages: [new AIMessage({ id: crypto.randomUUID(), content: "", tool_calls: [call] })] };
  })
  .addNode("tool", (state) => {
    // Letters that differ from step to step, so that nothing is saved by storing a text once.
    const result = `${state.left} `.repeat(2048).slice(0, 2048);
    const message = new ToolMessage({ id: crypto.randomUUID(), content: result, tool_call_id: `call_${state.left}` });
    return { messages: [message], left: state.left - 1 };
  })
  .addEdge(START, "model")
  .addEdge("model", "tool")
  .addConditionalEdges("tool", (state) => (state.left > 0 ? "model" : END), ["model", END]);
