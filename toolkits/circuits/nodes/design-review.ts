import { isAIMessage, isHumanMessage, isToolMessage, type BaseMessage } from "@langchain/core/messages";
import { z } from "zod";
import type { GraphState, RunContext } from "../../../src/state.ts";
import { CircuitContext } from "../state.ts";

/** Choices after a design iteration. */
export const designChoices = [
  "continue_optimizing",
  "modify_goals",
  "fix_error",
  "accept_design",
  "undo",
  "stop",
] as const;
export type DesignChoice = (typeof designChoices)[number];

/** A choice for the user; `value` becomes their message. */
export interface DesignSuggestion {
  id: DesignChoice;
  label: string;
  value: string;
}

const Suggestion = z.object({ id: z.enum(designChoices), label: z.string(), value: z.string() });
const Review = z.object({
  design_checkpoint: z.object({
    operations: z.array(z.string()),
    metrics: z.record(z.string(), z.number()).nullable(),
  }),
  suggestions: z.array(Suggestion).min(1),
  status_summary: z.string(),
});

/** The review waiting for a decision, if it is the last message. */
export function openReview(messages: readonly BaseMessage[]): z.infer<typeof Review> | undefined {
  const last = messages.at(-1);
  return last !== undefined && isAIMessage(last) ? Review.safeParse(last.additional_kwargs).data : undefined;
}

/** The review answered by the user's last message. */
export function answeredReview(messages: readonly BaseMessage[]): z.infer<typeof Review> | undefined {
  const at = messages.findLastIndex((message) => isHumanMessage(message));
  return at < 0 ? undefined : openReview(messages.slice(0, at));
}

const Answered = z.object({ answers: z.literal("design_checkpoint"), choice: z.enum(designChoices).nullable() });

/** The user's choice at a checkpoint; `null` for free text, `undefined` without a checkpoint. */
export function chosenAtCheckpoint(messages: readonly BaseMessage[]): DesignChoice | null | undefined {
  const last = messages.findLast((message) => isHumanMessage(message));
  return last === undefined ? undefined : Answered.safeParse(last.additional_kwargs).data?.choice;
}

/**
 * Whether the turn was a design iteration that needs a decision: it simulated a circuit, in work mode `workflow` or if
 * the run says so.
 */
export function reviewDue(state: Pick<GraphState, "messages" | "work_mode">, context: RunContext): boolean {
  const { design_checkpoint = state.work_mode === "workflow" } = CircuitContext.parse(context);
  if (!design_checkpoint || context.agent !== undefined) return false;
  return turnOf(state.messages).some((message) => isToolMessage(message) && message.name === "run_simulation");
}

/** The number of the session's iterations. */
export function iterationsIn(messages: readonly BaseMessage[]): number {
  return messages.filter((message) => message.additional_kwargs["design_checkpoint"] !== undefined).length;
}

const Operations = z.object({ operations: z.array(z.object({ operation_id: z.string() })) });

/** The turn's recorded changes, newest first: the order for undoing them. */
export function operationsOf(messages: readonly BaseMessage[]): string[] {
  return turnOf(messages)
    .filter((message) => isToolMessage(message))
    .flatMap(({ additional_kwargs }) => Operations.safeParse(additional_kwargs).data?.operations ?? [])
    .map(({ operation_id }) => operation_id)
    .toReversed();
}

function turnOf(messages: readonly BaseMessage[]): BaseMessage[] {
  return messages.slice(messages.findLastIndex((message) => isHumanMessage(message)) + 1);
}
