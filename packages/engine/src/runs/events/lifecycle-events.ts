import { z } from "zod";
import type { Lifecycle } from "../../run-events.ts";
import type { RunError } from "../../storage/records.ts";
import type { EventBody } from "./log.ts";
import type { GraphChunk } from "./to-events.ts";

/** What LangGraph's mode `tasks` gives when a step has ended. */
const EndedTask = z.object({
  id: z.string(),
  name: z.string(),
  error: z.union([z.string(), z.object({ name: z.string().default("Error"), message: z.string() })]).nullish(),
  interrupts: z.array(z.unknown()).default([]),
});

/** Tells when the subgraphs of one execution start and end (mode `lifecycle`). */
export interface LifecycleEvents {
  /** What a chunk says about them; it comes before the events of the chunk. */
  onChunk(chunk: GraphChunk): EventBody[];
  /** The graph is over: subgraphs that are still open end as it did. */
  over(end: { error?: RunError | undefined; paused: boolean }): EventBody[];
}

/** Makes the one of an execution. */
export function createLifecycle(): LifecycleEvents {
  const open = new Map<string, string[]>();
  const ended = new Set<string>();
  const eventOf = (namespace: string[], life: Omit<Lifecycle, "namespace">): EventBody => ({
    event: "lifecycle",
    namespace,
    data: { ...life, namespace },
  });
  const close = (key: string, life: Omit<Lifecycle, "namespace">): EventBody[] => {
    const namespace = open.get(key);
    if (namespace === undefined) return [];
    open.delete(key);
    ended.add(key);
    return [eventOf(namespace, life)];
  };
  return {
    onChunk([path, mode, payload]) {
      const events: EventBody[] = [];
      for (let depth = 1; depth <= path.length; depth += 1) {
        const namespace = path.slice(0, depth);
        const key = namespace.join("|");
        if (open.has(key) || ended.has(key)) continue;
        open.set(key, namespace);
        events.push(eventOf(namespace, { event: "started" }));
      }
      const task = mode === "tasks" && isEnd(payload) ? EndedTask.safeParse(payload).data : undefined;
      if (task === undefined) return events;
      const key = [...path, `${task.name}:${task.id}`].join("|");
      return [...events, ...close(key, endOf(task))];
    },
    over({ error, paused }) {
      const event = error === undefined ? (paused ? "interrupted" : "completed") : "failed";
      const failure = error && { error: { error: error.error, message: error.message } };
      // The innermost ends first.
      return [...open.keys()].toReversed().flatMap((key) => close(key, { event, ...failure }));
    },
  };
}

function endOf({ error, interrupts }: z.infer<typeof EndedTask>): Omit<Lifecycle, "namespace"> {
  if (error === undefined || error === null) return { event: interrupts.length > 0 ? "interrupted" : "completed" };
  const failure =
    typeof error === "string" ? { error: "Error", message: error } : { error: error.name, message: error.message };
  return { event: "failed", error: failure };
}

function isEnd(payload: unknown): boolean {
  return typeof payload === "object" && payload !== null && "result" in payload;
}
