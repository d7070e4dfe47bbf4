import type { RunnableConfig } from "@langchain/core/runnables";
import { INTERRUPT } from "@langchain/langgraph";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { z } from "zod";
import { AppError } from "../../errors/errors.ts";
import { answeredIds } from "../../storage/approvals.ts";
import type { Run, Session } from "../../storage/records.ts";
import { withInterruptId } from "../status.ts";

/**
 * The run with its answer bound to the question that it is for: to that of the state that it goes on from, where it names
 * one, else to what waits now. Throws `conflict` where that state asks nothing while something waits, or has asked several
 * things that wait no longer.
 */
export async function withBoundAnswer(
  run: Run,
  session: Session,
  origin: RunnableConfig,
  checkpointer: BaseCheckpointSaver,
): Promise<Run> {
  const { command } = run.kwargs;
  const resume = command?.["resume"] ?? undefined;
  if (command === undefined || resume === undefined || answeredIds(run).length > 0) return run;
  if (origin.configurable?.["checkpoint_id"] === undefined) return withCommand(run, withInterruptId(command, session));
  const asked = await questionsOf(origin, checkpointer);
  const waiting = new Set(Object.values(session.interrupts).flatMap((interrupts) => interrupts.map(({ id }) => id)));
  // What waits now shares an answer out by its own rules; where nothing waits, it only lets the run go on.
  if (asked.length === 0 ? waiting.size === 0 : asked.every((id) => waiting.has(id))) return run;
  const [only, ...others] = asked;
  if (only !== undefined && others.length === 0) return withCommand(run, { ...command, resume: { [only]: resume } });
  throw new AppError(
    "conflict",
    only === undefined
      ? "The state that the run goes on from asks nothing."
      : `The state that the run goes on from has ${asked.length} questions, and the answer names none: ${asked.join(", ")}.`,
    { suggestion: "Start a run without input from that state, so that it asks anew, and answer what waits then." },
  );
}

const withCommand = (run: Run, command: Run["kwargs"]["command"]): Run => ({
  ...run,
  kwargs: { ...run.kwargs, command },
});

const Asked = z.object({ id: z.string() });

/** The ids of the questions that a state has asked, answered or not. */
async function questionsOf(origin: RunnableConfig, checkpointer: BaseCheckpointSaver): Promise<string[]> {
  const { pendingWrites = [] } = (await checkpointer.getTuple(origin)) ?? {};
  const asked = pendingWrites.flatMap(([, channel, value]) => (channel === INTERRUPT ? [value].flat() : []));
  return [...new Set(asked.flatMap((question) => Asked.safeParse(question).data?.id ?? []))];
}
