import type { BaseMessage } from "@langchain/core/messages";
import { END, MessagesValue, START, StateGraph, StateSchema, type LangGraphRunnableConfig } from "@langchain/langgraph";
import { loop, runLoop } from "../../../src/loop/loop.ts";
import { LoopLimits } from "../../../src/state.ts";
import { builtInTools } from "../../../src/toolkits/enabled-toolkits.ts";

const State = new StateSchema({ messages: MessagesValue });

async function work(state: { messages: BaseMessage[] }, config: LangGraphRunnableConfig): Promise<typeof State.Update> {
  const { messages } = await runLoop(
    {
      node: "work",
      system: "Work.",
      history: state.messages,
      summary: null,
      tools: Object.values(builtInTools()).filter(({ name }) => name === "create_file"),
      limits: LoopLimits.parse({}),
      model: "openai:scripted",
      requiresConfirm: false,
      silent: false,
    },
    config,
  );
  return { messages };
}

const named = new StateGraph(State)
  .addNode("work", work, { subgraphs: [loop] })
  .addEdge(START, "work")
  .addEdge("work", END);

/** The loop in a graph within a graph. */
export const nested = new StateGraph(State)
  .addNode("inside", named.compile())
  .addEdge(START, "inside")
  .addEdge("inside", END);

/** A node that calls the loop without giving its own name. */
export const unnamed = new StateGraph(State).addNode("work", work).addEdge(START, "work").addEdge("work", END);
