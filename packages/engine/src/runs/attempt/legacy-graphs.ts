import { INTERRUPT, isInterrupted } from "@langchain/langgraph";
import { z } from "zod";
import { type Pause, readPause } from "../status.ts";
import type { GraphChunk, StreamPlan } from "../events/to-events.ts";
import { AppError } from "../../errors/errors.ts";
import { isLegacyGraph, type ServedGraph } from "../../graphs/served-graph.ts";
import { isBefore } from "../../manifest/user-module.ts";
import type { JsonObject, Run } from "../../storage/records.ts";

/** Kinds of chunks of the `debug` mode, by the mode in which newer versions stream them. */
const kinds: Record<"tasks" | "checkpoints", readonly string[]> = {
  tasks: ["task", "task_result"],
  checkpoints: ["checkpoint"],
};
const derivedModes = ["tasks", "checkpoints"] as const;
const DebugChunk = z.looseObject({ type: z.string(), payload: z.unknown() });

/** What a graph of LangGraph 0.2 or 0.3 has to be asked for: not all of them know the modes that are parts of `debug`. */
export function legacyStreamModes(modes: StreamPlan["modes"]): StreamPlan["modes"] {
  const plain = modes.filter((mode) => mode !== "tasks" && mode !== "checkpoints");
  return plain.length === modes.length || plain.includes("debug") ? plain : [...plain, "debug"];
}

/**
 * The stream of a graph of LangGraph 0.2 or 0.3 as newer versions stream it. It streams its interrupts in some modes
 * only, or not at all: they are read from its state after the stream, and come last. The items are pairs, or triples with subgraphs.
 */
export async function* readLegacyStream(
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
    // A breakpoint without a question is only streamed by the versions that have it.
    const isWanted = asked.length > 0 ? modes.includes(mode) : held.has(mode);
    if (isWanted) yield itemOf([], mode, { [INTERRUPT]: asked }, subgraphs);
  }
}

function itemOf(path: string[], mode: string, payload: unknown, subgraphs: boolean): unknown {
  return subgraphs ? [path, mode, payload] : [mode, payload];
}

const ByTask = z.record(z.uuid(), z.unknown());
/** The versions of LangGraph since which a command may answer, and may change the state or go to a node. */
const since = { resume: "0.2.24", update: "0.2.28", goto: "0.2.28" } as const;

/** Refuses what the LangGraph of a graph would pass over in silence: `invalid_parameter`. */
export function checkLegacyCommand(command: JsonObject, graphId: string, version: string | undefined): void {
  if (version === undefined) return;
  for (const part of ["resume", "update", "goto"] as const) {
    const given = command[part];
    if (given === undefined || given === null || !isBefore(version, since[part])) continue;
    const name = `@langchain/langgraph ${version}`;
    throw new AppError(
      "invalid_parameter",
      `Graph "${graphId}" is made with ${name}, which knows no command.${part}.`,
      {
        suggestion: `@langchain/langgraph ${since[part]} and newer do: npm install @langchain/langgraph@0.2`,
      },
    );
  }
}

/**
 * LangGraph 0.2 has no ids for questions, only for tasks, and does not find a task in a nested graph by its id. So what
 * answers the only question by its task is given as a plain answer.
 */
export async function answeredByTask(
  graph: ServedGraph,
  { session_id }: Pick<Run, "session_id">,
  command: JsonObject,
): Promise<JsonObject> {
  if (!isLegacyGraph(graph)) return command;
  const [answer, ...others] = Object.entries(ByTask.safeParse(command["resume"]).data ?? {});
  if (answer === undefined || others.length > 0) return command;
  const { interrupts } = await readPause(graph, session_id);
  const [only, ...more] = Object.values(interrupts).flat();
  return only?.id === answer[0] && more.length === 0 ? { ...command, resume: answer[1] } : command;
}
