import { Annotation, END, interrupt, START, StateGraph, StateSchema } from "@langchain/langgraph";
import { z } from "zod";

const Tree = z.object({
  label: z.string().default("leaf"),
  get child() {
    return Tree.optional();
  },
  get children() {
    return z.array(Tree).optional();
  },
});

/** Its input refers to itself. */
export const tree = new StateGraph(new StateSchema({ tree: Tree.optional() }))
  .addNode("grow", () => ({}))
  .addEdge(START, "grow")
  .addEdge("grow", END)
  .compile();

/** Its titles want to be more than titles. */
export const hostile = new StateGraph(
  new StateSchema({
    text: z
      .string()
      .default("")
      .meta({ title: "<img src=x onerror=alert(1)>", description: "[x](javascript:alert(1))" }),
    "__proto__ x": z.string().default("").meta({ title: "\u202Eevil" }),
    choice: z.enum(["<script>alert(1)</script>", "b"]).default("b"),
  }),
)
  .addNode("<b>node</b>", () => ({ text: "<img src=x onerror=alert(2)>" }))
  .addEdge(START, "<b>node</b>")
  .addEdge("<b>node</b>", END)
  .compile();

/** It does not say what it takes. */
export const silent = new StateGraph(Annotation.Root({ n: Annotation() }))
  .addNode("double", ({ n }) => ({ n: n * 2 }))
  .addEdge(START, "double")
  .addEdge("double", END)
  .compile();

/** Asks in words, and keeps the answer as it comes. */
export const counting = new StateGraph(Annotation.Root({ answer: Annotation() }))
  .addNode("ask", () => ({ answer: interrupt("How many?") }))
  .addEdge(START, "ask")
  .addEdge("ask", END)
  .compile();

/** Asks with a schema of the answer. */
export const asking = new StateGraph(Annotation.Root({ answer: Annotation() }))
  .addNode("ask", () => ({
    answer: interrupt({
      question: "Which day?",
      response_schema: { type: "object", properties: { day: { type: "integer", minimum: 1 } }, required: ["day"] },
    }),
  }))
  .addEdge(START, "ask")
  .addEdge("ask", END)
  .compile();

/** Takes as many steps as its input says. */
export const looping = new StateGraph(new StateSchema({ steps: z.number().default(0), left: z.number() }))
  .addNode("step", ({ steps, left }) => ({ steps: steps + 1, left: left - 1 }))
  .addEdge(START, "step")
  .addConditionalEdges("step", ({ left }) => (left > 0 ? "step" : END))
  .compile();
