import { appendFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { MessagesValue, START, StateGraph, StateSchema } from "@langchain/langgraph";

const State = new StateSchema({ messages: MessagesValue });

/** Notes each try, then ends the process as a failure of native code would. */
export const deadly = new StateGraph(State)
  .addNode("die", () => {
    appendFileSync(process.env["TRIES_FILE"] ?? "", "try\n");
    process.kill(process.pid, "SIGKILL");
    return {};
  })
  .addEdge(START, "die");

/** Ends by itself in a while. */
export const harmless = new StateGraph(State)
  .addNode("wait", async () => {
    await delay(300);
    return { messages: [{ role: "ai", content: "done" }] };
  })
  .addEdge(START, "wait");
