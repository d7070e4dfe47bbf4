import type { BaseMessage } from "@langchain/core/messages";
import { END, START, StateGraph, StateSchema, type LangGraphRunnableConfig } from "@langchain/langgraph";
import { loop } from "../loop/loop.ts";
import { compressionDue, onlyCompresses } from "../nodes/compress.ts";
import { nodes } from "../nodes/index.ts";
import { runContext } from "../nodes/turn/node-request.ts";
import { endsWithRequest } from "../nodes/turn/request-words.ts";
import { closingMessageOf } from "../nodes/turn/partial-reply.ts";
import { ownServices } from "../loop/own-services.ts";
import { provideOwnServices } from "../loop/services.ts";
import type { GraphState, WorkflowNode } from "../state.ts";
import { composedContext, composedState, workflowAdditions } from "../toolkits/composition.ts";
import type { ToolkitNode } from "../toolkits/toolkit.ts";

/** LangGraph must know the subgraph of a node that calls the loop. */
const callsLoop = { subgraphs: [loop] };
type NamedNode = [name: string, node: WorkflowNode, options?: typeof callsLoop];

/**
 * The workflow: compress if due, find the intent, ask about unclear requests, then reply or work (freely, by a plan, or
 * by the run's chosen action), then run the toolkits' review nodes. Not compiled: callers compile it with their
 * checkpointer.
 */
export const workflow = drawWorkflow();

provideOwnServices(ownServices);

function drawWorkflow() {
  const additions = workflowAdditions();
  const added = Object.entries(Object.assign({}, ...additions.map((one) => one.nodes)) as Record<string, ToolkitNode>);
  const graph = new StateGraph(new StateSchema(composedState()), { context: composedContext() })
    .addNode([
      ["compress", nodes.compress, callsLoop],
      ["intent", nodes.intent, callsLoop],
      ["clarify", nodes.clarify],
      ["plan", nodes.plan, callsLoop],
      ["free_work", nodes.free_work, callsLoop],
      ["action", nodes.action, callsLoop],
      ...added.map(([name, node]): NamedNode => [name, node.run, node.callsLoop === true ? callsLoop : undefined]),
    ])
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
    .addConditionalEdges("clarify", (state) => (endsWithRequest(state.messages) ? "intent" : END), ["intent", END]);
  const reviews = additions.flatMap(({ afterWork: review }) => review ?? []);
  const following = [...reviews.map(({ node }) => node), END];
  const afterWork = (state: GraphState, config: LangGraphRunnableConfig): string =>
    reviews.find(({ isDue }) => isDue(state, runContext(config)))?.node ?? END;
  for (const node of ["free_work", "plan", "action"] as const) graph.addConditionalEdges(node, afterWork, following);
  for (const [name, { next }] of added) {
    if (typeof next === "string") graph.addEdge(name, next);
    else graph.addConditionalEdges(name, next.choose, [...next.targets]);
  }
  return graph;
}

/** Whether there is anything to answer: a run may ask only for compression. A stop's closing message is no answer. */
function isUnanswered(messages: readonly BaseMessage[]): boolean {
  return endsWithRequest(messages) || closingMessageOf(messages) !== undefined;
}
