import { Annotation, END, interrupt, START, StateGraph } from "@langchain/langgraph";

const Words = Annotation.Root({
  messages: Annotation<unknown[]>({ reducer: (left, right) => [...left, ...right], default: () => [] }),
});

/** Keeps under `messages` whatever it is given, and says how many there were. */
export const words = new StateGraph(Words)
  .addNode("count", ({ messages }) => ({ messages: [`${messages.length} before`] }))
  .addEdge(START, "count")
  .addEdge("count", END);

const Steps = Annotation.Root({
  steps: Annotation<string[]>({ reducer: (left, right) => [...left, ...right], default: () => [] }),
});

/** Two steps, with a breakpoint before the second one. */
export const breakpoint = new StateGraph(Steps)
  .addNode("first", () => ({ steps: ["first"] }))
  .addNode("second", () => ({ steps: ["second"] }))
  .addEdge(START, "first")
  .addEdge("first", "second")
  .addEdge("second", END)
  .compile({ interruptBefore: ["second"] });

const asking = new StateGraph(Steps)
  .addNode("prepare", () => ({ steps: ["prepared"] }))
  .addNode("ask", () => ({ steps: [`said ${String(interrupt("Go on?"))}`] }))
  .addEdge(START, "prepare")
  .addEdge("prepare", "ask")
  .addEdge("ask", END)
  .compile();

/** A step beside a graph that asks in its second step. */
export const asksInside = new StateGraph(Steps)
  .addNode("beside", () => ({ steps: ["beside"] }))
  .addNode("inside", asking)
  .addEdge(START, "beside")
  .addEdge(START, "inside")
  .addEdge("beside", END)
  .addEdge("inside", END);

const broken = new StateGraph(Steps)
  .addNode("first", () => ({ steps: ["first"] }))
  .addNode("second", () => ({ steps: ["second"] }))
  .addEdge(START, "first")
  .addEdge("first", "second")
  .addEdge("second", END)
  .compile({ interruptBefore: ["second"] });

/** A graph with a breakpoint of its own in another one. */
export const breakpointInside = new StateGraph(Steps)
  .addNode("inside", broken)
  .addEdge(START, "inside")
  .addEdge("inside", END);
