import { INTERRUPT, isInterrupted } from "@langchain/langgraph";
import { z } from "zod";
import type { Pause } from "../status.ts";
import type { GraphChunk, StreamPlan } from "../events/to-events.ts";

/** The kinds of what the `debug` mode tells, by the mode in which newer versions tell it. */
const kinds: Record<"tasks" | "checkpoints", readonly string[]> = {
  tasks: ["task", "task_result"],
  checkpoints: ["checkpoint"],
};
const derivedModes = ["tasks", "checkpoints"] as const;
const DebugChunk = z.looseObject({ type: z.string(), payload: z.unknown() });

/** What a graph of LangGraph 0.2 or 0.3 has to be asked for: not all of them know the modes that are parts of `debug`. */
export function formerModes(modes: StreamPlan["modes"]): StreamPlan["modes"] {
  const plain = modes.filter((mode) => mode !== "tasks" && mode !== "checkpoints");
  return plain.length === modes.length || plain.includes("debug") ? plain : [...plain, "debug"];
}

/**
 * The stream of a graph of LangGraph 0.2 or 0.3 as newer versions stream it. What such a graph waits for it tells in some modes, or
 * not at all: it is read off its state when the walk is over, and told last. The items are pairs, or triples with subgraphs.
 */
export async function* readFormerStream(
  stream: AsyncIterable<unknown>,
  { modes, subgraphs }: StreamPlan,
  pauseAfter: () => Promise<Pause>,
): AsyncGenerator<unknown> {
  const derived = derivedModes.filter((mode) => modes.includes(mode));
  const held = new Set<string>();
  for await (const item of stream) {
    // With a list of modes LangGraph gives pairs, and triples with `subgraphs`.
    const [path, mode, payload] = (subgraphs ? item : [[], ...(item as [string, unknown])]) as GraphChunk;
    if (path.length === 0 && (mode === "updates" || mode === "values") && isInterrupted(payload)) {
      held.add(mode);
      continue;
    }
    if (mode !== "debug" || modes.includes("debug")) yield item;
    if (mode !== "debug" || derived.length === 0) continue;
    const chunk = DebugChunk.safeParse(payload).data;
    for (const other of derived) {
      if (chunk !== undefined && kinds[other].includes(chunk.type)) yield itemOf(path, other, chunk.payload, subgraphs);
    }
  }
  const { interrupts } = await pauseAfter();
  const asked = Object.values(interrupts).flat();
  for (const mode of ["updates", "values"] as const) {
    // Of a breakpoint, where nobody is asked anything, only those versions tell that have held it.
    const isTold = asked.length > 0 ? modes.includes(mode) : held.has(mode);
    if (isTold) yield itemOf([], mode, { [INTERRUPT]: asked }, subgraphs);
  }
}

function itemOf(path: string[], mode: string, payload: unknown, subgraphs: boolean): unknown {
  return subgraphs ? [path, mode, payload] : [mode, payload];
}
