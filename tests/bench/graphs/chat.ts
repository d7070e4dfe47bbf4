import { ChatOpenAI } from "@langchain/openai";
import { END, MessagesValue, START, StateGraph, StateSchema } from "@langchain/langgraph";

const State = new StateSchema({ messages: MessagesValue });
const model = new ChatOpenAI({
  model: "bench",
  apiKey: "bench",
  maxRetries: 0,
  configuration: { baseURL: process.env["OPENAI_BASE_URL"] ?? null },
});

/** One model call without tools: the way of a token. */
export const graph = new StateGraph(State)
  .addNode("chat", async (state) => ({ messages: [await model.invoke(state.messages)] }))
  .addEdge(START, "chat")
  .addEdge("chat", END);
