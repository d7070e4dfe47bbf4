import type { Interrupt } from "@langchain/langgraph";
import type { ServedGraph } from "../graph/load.ts";
import type { Session } from "@millrace/engine/storage/records";
import { finishedTasks } from "./finished-tasks.ts";
import type { Pause } from "./status.ts";

/** The id of a question; LangGraph 0.3 calls it otherwise, 0.2 has none. */
function idOf(asked: Interrupt): string | undefined {
  const former: unknown = "interrupt_id" in asked ? asked.interrupt_id : undefined;
  return asked.id ?? (typeof former === "string" ? former : undefined);
}

/** What the newest checkpoint of a session waits for. Throws what the checkpointer throws. */
export async function readPause(graph: ServedGraph, sessionId: string): Promise<Pause> {
  const state = await graph.getState({ configurable: { thread_id: sessionId } });
  const finished = await finishedTasks(graph.checkpointer, state);
  const interrupts: Session["interrupts"] = {};
  for (const task of state.tasks) {
    if (task.interrupts.length === 0 || finished.has(task.id)) continue;
    interrupts[task.id] = task.interrupts.map((asked) => ({ id: idOf(asked) ?? task.id, value: asked.value }));
  }
  return { interrupts, waiting: state.next.length > 0 };
}
