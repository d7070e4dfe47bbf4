import { builtInPrompts, type Prompts } from "../prompts/prompts.ts";
import { emptyReplyPrompt } from "../prompts/templates/empty-reply.ts";
import { incompleteReplyPrompt } from "../prompts/templates/incomplete-reply.ts";
import { breaksOff } from "./reply-completeness.ts";
import type { Turn } from "./turn.ts";
import { LoopLimits } from "../state/loop-limits.ts";

/** Maximum forced continuations per turn: `MAX_FORCE_CONTINUE_RETRIES`. */
export const maxForced = LoopLimits.parse({}).max_force_continue;

/** The prompt after a reply that does not end the turn; English, for the model. */
export interface ForcedPrompt {
  kind: string;
  prompt: string;
}

/**
 * Progress of a task with several steps. `remaining`: not tried, `failed`: tried without success. `incomplete`: work
 * remains; `completed`: all done; `none`: no further work, or unknown.
 */
export interface TaskVerdict {
  task: string | null;
  verdict: "incomplete" | "completed" | "none";
  done: number;
  total: number;
  remaining: string[];
  failed: string[];
}

/** Checks a turn whose reply would end it. Toolkits provide it for their profile. */
export interface CompletionCheck {
  assess(turn: Turn): TaskVerdict;
  /** Work left besides a complete reply. */
  neededRound(turn: Turn, prompts: Prompts): ForcedPrompt | null;
}

/** Options of `neededRound`: `forced` rounds so far, at most `limit`. */
export interface NeededRoundOptions {
  forced: number;
  limit?: number;
  completion?: CompletionCheck | undefined;
  prompts?: Prompts | undefined;
}

/**
 * The forced round needed after a reply without calls, or `null`. A reply that repeats the one before it needs none.
 */
export function neededRound(
  turn: Turn,
  { forced, limit = maxForced, completion, prompts = builtInPrompts }: NeededRoundOptions,
): ForcedPrompt | null {
  const last = turn.rounds.at(-1);
  if (last === undefined || last.calls.length > 0 || forced >= limit || repeatsItself(turn)) return null;
  const reply = last.text.trim();
  if (reply === "") return { kind: "empty_reply", prompt: emptyReplyPrompt(prompts) };
  const more = completion?.neededRound(turn, prompts) ?? null;
  if (more !== null) return more;
  return breaksOff(reply) ? { kind: "incomplete_reply", prompt: incompleteReplyPrompt(prompts) } : null;
}

/** Whether a forced reply repeats the text it should have continued, or the forced reply before it. */
function repeatsItself(turn: Turn): boolean {
  const last = turn.rounds.at(-1);
  if (last?.forced !== true) return false;
  const before = turn.rounds.slice(0, -1).filter(({ calls }) => calls.length === 0);
  return before.some(({ text }) => text.trim() === last.text.trim());
}
