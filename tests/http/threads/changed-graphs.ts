import { once } from "node:events";
import {
  END,
  interrupt,
  type LangGraphRunnableConfig,
  ReducedValue,
  Send,
  START,
  StateGraph,
  StateSchema,
} from "@langchain/langgraph";
import { z } from "zod";

const log = new ReducedValue(z.array(z.string()).default([]), {
  inputSchema: z.array(z.string()),
  reducer: (left: string[], right: string[]) => [...left, ...right],
});
const State = new StateSchema({ log });
type Update = typeof State.Update;

const does = (name: string) => (): Update => ({ log: [name] });
const asks = (name: string) => (): Update => ({ log: [`${name}: ${String(interrupt(`${name}?`))}`] });

/** Writes, asks for approval, sends; each node may have another name. */
function letter({ write = "write", ask = "ask", send = "send" } = {}) {
  return new StateGraph(State)
    .addNode(write, does("write"))
    .addNode(ask, asks("ask"))
    .addNode(send, does("send"))
    .addEdge(START, write)
    .addEdge(write, ask)
    .addEdge(ask, send)
    .addEdge(send, END);
}

/** Two people are asked in parallel. */
function pair({ left = "left", right = "right" } = {}) {
  return new StateGraph(State)
    .addNode(left, asks("left"))
    .addNode(right, asks("right"))
    .addNode("join", does("join"))
    .addEdge(START, left)
    .addEdge(START, right)
    .addEdge([left, right], "join")
    .addEdge("join", END);
}

/** One task for each item, by `Send`. */
function fanOut(worker = "worker") {
  return new StateGraph(State)
    .addNode("split", does("split"))
    .addNode(worker, asks("worker"))
    .addEdge(START, "split")
    .addConditionalEdges("split", () => ["a", "b"].map((item) => new Send(worker, { item })), [worker])
    .addEdge(worker, END);
}

const names = { write: "write", ask: "ask", send: "send" };
const outer = (inside: string, inner: Partial<typeof names>) =>
  new StateGraph(State).addNode(inside, letter(inner).compile()).addEdge(START, inside).addEdge(inside, END);

export const before = letter();
export const askRenamed = letter({ ask: "approve" });
export const sendRenamed = letter({ send: "post" });
export const askRemoved = new StateGraph(State)
  .addNode("write", does("write"))
  .addNode("send", does("send"))
  .addEdge(START, "write")
  .addEdge("write", "send")
  .addEdge("send", END);
export const nodeAdded = new StateGraph(State)
  .addNode("write", does("write"))
  .addNode("ask", asks("ask"))
  .addNode("check", does("check"))
  .addNode("send", does("send"))
  .addEdge(START, "write")
  .addEdge("write", "ask")
  .addEdge("ask", "check")
  .addEdge("check", "send")
  .addEdge("send", END);
export const firstAdded = new StateGraph(State)
  .addNode("greet", does("greet"))
  .addNode("write", does("write"))
  .addNode("ask", asks("ask"))
  .addNode("send", does("send"))
  .addEdge(START, "greet")
  .addEdge("greet", "write")
  .addEdge("write", "ask")
  .addEdge("ask", "send")
  .addEdge("send", END);
export const sendRemoved = new StateGraph(State)
  .addNode("write", does("write"))
  .addNode("ask", asks("ask"))
  .addEdge(START, "write")
  .addEdge("write", "ask")
  .addEdge("ask", END);
export const allRenamed = letter({ write: "draft", ask: "approve", send: "post" });
export const both = pair();
export const rightRenamed = pair({ right: "second" });
export const leftRenamed = pair({ left: "first" });
export const bothRenamed = pair({ left: "first", right: "second" });
export const workers = fanOut();
export const workersRenamed = fanOut("helper");
export const splitRenamed = new StateGraph(State)
  .addNode("divide", does("split"))
  .addNode("worker", asks("worker"))
  .addEdge(START, "divide")
  .addConditionalEdges("divide", () => ["a", "b"].map((item) => new Send("worker", { item })), ["worker"])
  .addEdge("worker", END);
export const nested = outer("inside", {});
export const innerRenamed = outer("inside", { ask: "approve" });
export const innerOtherRenamed = outer("inside", { send: "post" });
export const outerRenamed = outer("within", {});
export const paused = letter().compile({ interruptBefore: ["ask"] });

/** Its second node works until the server stops; after the restart it ends at once. */
function slow(node: string, isSlow: boolean) {
  const work = async (_state: unknown, { signal }: LangGraphRunnableConfig): Promise<Update> => {
    if (isSlow && signal !== undefined) {
      await once(signal, "abort");
      signal.throwIfAborted();
    }
    return { log: ["work"] };
  };
  return new StateGraph(State)
    .addNode("write", does("write"))
    .addNode(node, work)
    .addEdge(START, "write")
    .addEdge("write", node)
    .addEdge(node, END);
}

export const working = slow("work", true);
export const workRenamed = slow("labour", false);
export const workBack = slow("work", false);
