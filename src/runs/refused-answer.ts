import type { ServedGraph } from "../graph/load.ts";
import type { Run, RunError } from "@millrace/engine/storage/records";
import { Addressed, openQuestions } from "./answers-left.ts";

/**
 * Why a run with `strict_resume` may not begin: it answers a question that is not open (SDK 1.15). `undefined` for any
 * other run, and for one whose answers all have a question. Throws what the checkpointer throws.
 */
export async function refusedAnswer({ kwargs, session_id }: Run, graph: ServedGraph): Promise<RunError | undefined> {
  const resume = kwargs.command?.["resume"];
  if (kwargs.strict_resume !== true || resume === undefined || resume === null) return undefined;
  const open = openQuestions(await graph.getState({ configurable: { thread_id: session_id } }, { subgraphs: true }));
  const named = Object.keys(Addressed.safeParse(resume).data ?? {});
  const unknown = named.filter((id) => !open.has(id));
  if (unknown.length === 0 && (named.length > 0 || open.size > 0)) return undefined;
  const what = unknown.length === 0 ? "No interrupt is waiting" : `No interrupt ${unknown.join(", ")} is waiting`;
  const waiting = open.size === 0 ? "" : ` Those that wait: ${[...open].join(", ")}.`;
  return { error: "UnknownInterruptError", message: `${what} for an answer.${waiting}` };
}
