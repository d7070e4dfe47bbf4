import { isHumanMessage, type BaseMessage } from "@langchain/core/messages";
import { END, START, StateGraph } from "@langchain/langgraph";
import { loop } from "../loop/loop.ts";
import { compressionDue, onlyCompresses } from "../nodes/compress.ts";
import { nodes } from "../nodes/index.ts";
import { nextWork } from "../nodes/plan-progress.ts";
import { GraphState, RunContext } from "../state.ts";

/**
 * The workflow (ARCH-01, ARCH-19): compress when due, find the intent, ask when it is unclear, then reply, work freely, or plan and act. A builder:
 * whoever serves it compiles it with a checkpointer.
 */
export const workflow = new StateGraph(GraphState, { context: RunContext })
  .addNode("compress", nodes.compress, { subgraphs: [loop] })
  .addNode("intent", nodes.intent, { subgraphs: [loop] })
  .addNode("clarify", nodes.clarify)
  .addNode("plan", nodes.plan, { subgraphs: [loop] })
  .addNode("free_work", nodes.free_work, { subgraphs: [loop] })
  .addNode("action", nodes.action, { subgraphs: [loop] })
  .addConditionalEdges(START, (state, config) => (compressionDue(state, config) ? "compress" : "intent"), [
    "compress",
    "intent",
  ])
  .addConditionalEdges(
    "compress",
    (state, config) => (endsWithRequest(state.messages) && !onlyCompresses(config) ? "intent" : END),
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
  .addConditionalEdges(
    "action",
    (state) => (state.task_plan !== null && nextWork(state.task_plan).kind !== "over" ? "action" : END),
    ["action", END],
  )
  .addEdge("free_work", END);

/** Whether there is anything to answer: a run may also ask only for compression. */
function endsWithRequest(messages: readonly BaseMessage[]): boolean {
  const last = messages.at(-1);
  return last !== undefined && isHumanMessage(last);
}
