import { isHumanMessage, type BaseMessage } from "@langchain/core/messages";
import { END, START, StateGraph, type LangGraphRunnableConfig } from "@langchain/langgraph";
import { loop } from "../loop/loop.ts";
import { compressionDue, onlyCompresses } from "../nodes/compress.ts";
import { chosenAtCheckpoint, reviewDue } from "../../toolkits/circuits/nodes/design-review.ts";
import { nodes } from "../nodes/index.ts";
import { runContext } from "../nodes/turn/node-request.ts";
import { wordsOfStop } from "../nodes/turn/partial-reply.ts";
import { nextWork } from "../nodes/plan/plan-progress.ts";
import { GraphState, RunContext } from "../state.ts";

/**
 * The workflow: compress when due, find the intent, ask when it is unclear, then reply, work freely, or plan and act;
 * after an iteration of a design, wait for what comes next. A builder: whoever serves it compiles it with a
 * checkpointer.
 */
export const workflow = new StateGraph(GraphState, { context: RunContext })
  .addNode("compress", nodes.compress, { subgraphs: [loop] })
  .addNode("intent", nodes.intent, { subgraphs: [loop] })
  .addNode("clarify", nodes.clarify)
  .addNode("plan", nodes.plan, { subgraphs: [loop] })
  .addNode("free_work", nodes.free_work, { subgraphs: [loop] })
  .addNode("action", nodes.action, { subgraphs: [loop] })
  .addNode("review_design", nodes.review_design)
  .addNode("design_checkpoint", nodes.design_checkpoint)
  .addNode("undo_design", nodes.undo_design)
  .addConditionalEdges(START, (state, config) => (compressionDue(state, config) ? "compress" : "intent"), [
    "compress",
    "intent",
  ])
  .addConditionalEdges(
    "compress",
    (state, config) => (isUnanswered(state.messages) && !onlyCompresses(config) ? "intent" : END),
    ["intent", END],
  )
  .addConditionalEdges("intent", (state) => (state.route === "reply" ? END : (state.route ?? "free_work")), [
    "free_work",
    "plan",
    "action",
    "clarify",
    END,
  ])
  .addConditionalEdges("clarify", (state) => (endsWithRequest(state.messages) ? "intent" : END), ["intent", END])
  .addEdge("plan", "action")
  .addConditionalEdges("action", (state, config) => (hasWork(state) ? "action" : afterWork(state, config)), [
    "action",
    "review_design",
    END,
  ])
  .addConditionalEdges("free_work", afterWork, ["review_design", END])
  .addEdge("review_design", "design_checkpoint")
  .addConditionalEdges("design_checkpoint", afterCheckpoint, ["intent", "undo_design", END])
  .addEdge("undo_design", END);

function hasWork({ task_plan }: GraphState): boolean {
  return task_plan !== null && nextWork(task_plan).kind !== "over";
}

/** An iteration of a design is reviewed before anything else comes. */
function afterWork(state: GraphState, config: LangGraphRunnableConfig): "review_design" | typeof END {
  return reviewDue(state, runContext(config)) ? "review_design" : END;
}

function afterCheckpoint({ messages }: GraphState): "intent" | "undo_design" | typeof END {
  if (!endsWithRequest(messages)) return END;
  return chosenAtCheckpoint(messages) === "undo" ? "undo_design" : "intent";
}

/** Whether there is anything to answer: a run may also ask only for compression. What a stop has left is no answer. */
function isUnanswered(messages: readonly BaseMessage[]): boolean {
  return endsWithRequest(messages) || wordsOfStop(messages) !== undefined;
}

function endsWithRequest(messages: readonly BaseMessage[]): boolean {
  const last = messages.at(-1);
  return last !== undefined && isHumanMessage(last);
}
