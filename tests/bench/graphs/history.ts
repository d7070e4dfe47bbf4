import { AIMessage } from "@langchain/core/messages";
import { END, MessagesValue, START, StateGraph, StateSchema } from "@langchain/langgraph";

const State = new StateSchema({ messages: MessagesValue });

/** Answers with 200 characters and no model: one turn of a long conversation, and nothing else. */
export const graph = new StateGraph(State)
  .addNode("answer", () => ({ messages: [new AIMessage({ id: crypto.randomUUID(), content: "a".repeat(200) })] }))
  .addEdge(START, "answer")
  .addEdge("answer", END);
