import { builtInPrompts, type Prompts } from "../prompts/prompts.ts";
import { emptyReplyPrompt } from "../prompts/templates/empty-reply.ts";
import { incompleteReplyPrompt } from "../prompts/templates/incomplete-reply.ts";
import { breaksOff } from "./reply-completeness.ts";
import type { Turn } from "./turn.ts";

/** Forced continuations of one turn at most: `MAX_FORCE_CONTINUE_RETRIES`. */
export const maxForced = 5;

/** What the model is asked when its reply does not end the turn. The text is English and for the model. */
export interface ForcedPrompt {
  kind: string;
  prompt: string;
}

/**
 * How far a task of several steps is. `remaining` was never tried, `failed` was tried in vain. `incomplete`: something
 * remains; `completed`: all is done; `none`: nothing that asks for more work, or too little is known.
 */
export interface TaskVerdict {
  task: string | null;
  verdict: "incomplete" | "completed" | "none";
  done: number;
  total: number;
  remaining: string[];
  failed: string[];
}

/** Looks at a turn whose reply would end it. A toolkit brings one for the runs of its profile. */
export interface CompletionCheck {
  assess(turn: Turn): TaskVerdict;
  /** What the turn owes the user besides a whole reply. */
  owed(turn: Turn, prompts: Prompts): ForcedPrompt | null;
}

/** What bears on what is owed. `forced` counts the forced rounds so far, of at most `most`. */
export interface OwedOptions {
  forced: number;
  most?: number;
  completion?: CompletionCheck | undefined;
  prompts?: Prompts | undefined;
}

/**
 * What is still owed after a reply without calls: another forced round, or nothing. A reply that repeats the one before
 * it has nothing to add.
 */
export function owed(
  turn: Turn,
  { forced, most = maxForced, completion, prompts = builtInPrompts }: OwedOptions,
): ForcedPrompt | null {
  const last = turn.rounds.at(-1);
  if (last === undefined || last.calls.length > 0 || forced >= most || repeatsItself(turn)) return null;
  const reply = last.text.trim();
  if (reply === "") return { kind: "empty_reply", prompt: emptyReplyPrompt(prompts) };
  const more = completion?.owed(turn, prompts) ?? null;
  if (more !== null) return more;
  return breaksOff(reply) ? { kind: "incomplete_reply", prompt: incompleteReplyPrompt(prompts) } : null;
}

/** A forced reply that says the same as the words it was to go on from, or as the forced one before it. */
function repeatsItself(turn: Turn): boolean {
  const last = turn.rounds.at(-1);
  if (last?.forced !== true) return false;
  const before = turn.rounds.slice(0, -1).filter(({ calls }) => calls.length === 0);
  return before.some(({ text }) => text.trim() === last.text.trim());
}
