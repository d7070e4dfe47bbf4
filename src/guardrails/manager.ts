import { loopNote } from "../prompts/templates/loop-note.ts";
import type { Prompts } from "../prompts/prompts.ts";
import type { Finding } from "./finding.ts";
import { historyOf } from "./history.ts";
import { turnRules } from "./index.ts";
import type { GuardLimits } from "./limits.ts";
import type { CallInTurn, Turn } from "./turn.ts";

/** What a rule has found: see `finding.ts`. */
export type { Finding } from "./finding.ts";

/**
 * The one door to the rules against loops. Before each model call: what was found, `finish` first. A `warn` is a note
 * of that call; at a `finish` the model is called once more, without tools, and the turn ends.
 */
export function reviewTurn(turn: Turn, limits: GuardLimits): Finding[] {
  const history = historyOf(turn);
  const found = Object.values(turnRules).flatMap((rule) => rule.turn(history, limits) ?? []);
  return [...found.filter(({ stage }) => stage === "finish"), ...found.filter(({ stage }) => stage !== "finish")];
}

/**
 * Before a tool call: the finding that blocks it, if any; its result is then `{blocked: true, reason, suggestions}`. `call` holds the arguments as the model wrote them, for so they stand in the turn: see `callInTurn`.
 */
export function reviewCall(turn: Turn, call: CallInTurn, limits: GuardLimits): Finding | null {
  const history = historyOf(turn);
  for (const rule of Object.values(turnRules)) {
    const finding = rule.call?.(history, call, limits) ?? null;
    if (finding !== null) return finding;
  }
  return null;
}

/** The note that tells the model of a finding. */
export function noteOf({ reason, suggestions }: Finding, prompts?: Prompts): string {
  return loopNote({ reason, suggestions }, prompts);
}
