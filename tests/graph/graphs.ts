import { Annotation, MessagesAnnotation, MessagesValue, START, StateGraph, StateSchema } from "@langchain/langgraph";
import { z } from "zod";

const State = new StateSchema({ messages: MessagesValue, count: z.number().default(0) });
const Context = z.object({ model: z.custom<object>().optional(), limit: z.number().default(3) });

function counting() {
  return new StateGraph(State, Context).addNode("step", () => ({ count: 1 })).addEdge(START, "step");
}

export const builder = counting();
export const compiled = counting().compile();
export const promised = Promise.resolve(counting().compile());
export const wrapper = { graph: counting().compile(), invoke: (): void => undefined };
export const factory = async (config: { configurable?: { name?: string } }) => {
  const name = config.configurable?.name ?? "step";
  const Count = Annotation.Root({ count: Annotation<number>() });
  return new StateGraph(Count).addNode(name, () => ({ count: 1 })).addEdge(START, name);
};
export const annotated = new StateGraph(MessagesAnnotation)
  .addNode("step", () => ({}))
  .addEdge(START, "step")
  .compile();
// LangGraph draws a subgraph of one node as that node, so this one has two.
const twoSteps = counting()
  .addNode("second", () => ({ count: 2 }))
  .addEdge("step", "second")
  .compile();
export const nested = new StateGraph(State).addNode("inner", twoSteps).addEdge(START, "inner").compile();
export const notAGraph = 7;
export const throwing = (): never => {
  throw new Error("no key");
};
