import { loopNote } from "../prompts/templates/loop-note.ts";
import type { Prompts } from "../prompts/prompts.ts";
import type { Finding } from "./finding.ts";
import { historyOf } from "./history.ts";
import { turnRules } from "./index.ts";
import type { GuardLimits } from "./limits.ts";
import type { CallInTurn, Turn } from "./turn.ts";

/** A rule's finding; see `finding.ts`. */
export type { Finding } from "./finding.ts";

const rules = Object.values(turnRules);

/**
 * The entry point of the loop rules. Before each model call: the findings, `finish` first. `warn` adds a note to the
 * call; after `finish` the model is called once more without tools and the turn ends.
 */
export function reviewTurn(turn: Turn, limits: GuardLimits): Finding[] {
  const history = historyOf(turn);
  const found = rules.flatMap((rule) => rule.turn(history, limits) ?? []);
  return [...found.filter(({ stage }) => stage === "finish"), ...found.filter(({ stage }) => stage !== "finish")];
}

/**
 * Before a tool call: the finding that blocks it, if any; its result is then `{blocked: true, reason, suggestions}`.
 * `call` has the model's own arguments; see `callInTurn`.
 */
export function reviewCall(turn: Turn, call: CallInTurn, limits: GuardLimits): Finding | null {
  const history = historyOf(turn);
  for (const rule of rules) {
    const finding = rule.call?.(history, call, limits) ?? null;
    if (finding !== null) return finding;
  }
  return null;
}

/** The note for the model about a finding. */
export function noteOf({ reason, suggestions }: Finding, prompts?: Prompts): string {
  return loopNote({ reason, suggestions }, prompts);
}
