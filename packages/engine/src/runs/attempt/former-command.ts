import { z } from "zod";
import { AppError } from "../../errors/errors.ts";
import { isFormerGraph, type ServedGraph } from "../../graphs/served-graph.ts";
import { isBefore } from "../../manifest/user-module.ts";
import type { JsonObject, Run } from "../../storage/records.ts";
import { readPause } from "../status.ts";

const ByTask = z.record(z.uuid(), z.unknown());
/** The versions of LangGraph since which a command may answer, and may change the state or go to a node. */
const since = { resume: "0.2.24", update: "0.2.28", goto: "0.2.28" } as const;

/** Refuses what the LangGraph of a graph would pass over in silence: `invalid_parameter`. */
export function checkFormerCommand(command: JsonObject, graphId: string, version: string | undefined): void {
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
  if (!isFormerGraph(graph)) return command;
  const [answer, ...others] = Object.entries(ByTask.safeParse(command["resume"]).data ?? {});
  if (answer === undefined || others.length > 0) return command;
  const { interrupts } = await readPause(graph, session_id);
  const [only, ...more] = Object.values(interrupts).flat();
  return only?.id === answer[0] && more.length === 0 ? { ...command, resume: answer[1] } : command;
}
