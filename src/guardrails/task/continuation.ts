import { emptyReplyPrompt } from "../../prompts/templates/empty-reply.ts";
import { fileMovePrompt } from "../../prompts/templates/file-move.ts";
import { fileSummaryPrompt } from "../../prompts/templates/file-summary.ts";
import { folderCheckPrompt } from "../../prompts/templates/folder-check.ts";
import { incompleteReplyPrompt } from "../../prompts/templates/incomplete-reply.ts";
import { builtInPrompts, type Prompts } from "../../prompts/prompts.ts";
import { progressText } from "../../prompts/task-progress.ts";
import { accountsFor } from "./reply-content.ts";
import { breaksOff } from "./reply-completeness.ts";
import { owesContent } from "./summary.ts";
import { checkingProgress, movingProgress, noTask, readingProgress, type TaskVerdict } from "./task-progress.ts";
import { asksToGoOn, promises, reasonsNotDone } from "./task-words.ts";
import type { Turn } from "../turn.ts";

/** Forced continuations of one turn at most: `MAX_FORCE_CONTINUE_RETRIES`. */
export const maxForced = 5;

/** What the model is asked when its reply does not end the turn. The text is English and for the model. */
export interface ForcedPrompt {
  kind: "folder_check" | "file_move" | "file_summary" | "incomplete_reply" | "empty_reply";
  prompt: string;
}

/**
 * The task of several steps that this turn works on, and how far it is. When the reply says why the rest was left,
 * nothing asks for more work.
 */
export function assessTask(turn: Turn): TaskVerdict {
  const found = recognise(turn);
  const last = turn.rounds.at(-1);
  const isReply = last !== undefined && last.calls.length === 0;
  if (found.verdict !== "incomplete" || !isReply || !explainsRest(last.text, found.remaining)) return found;
  return { ...found, verdict: "none" };
}

function recognise(turn: Turn): TaskVerdict {
  const found = [movingProgress(turn), checkingProgress(turn), readingProgress(turn)];
  const recognised = found.filter(({ task }) => task !== null);
  return (
    recognised.find(({ verdict }) => verdict === "incomplete") ??
    recognised.find(({ verdict }) => verdict === "completed") ??
    recognised[0] ??
    noTask
  );
}

/** What bears on what is owed. `forced` counts the forced rounds so far, of at most `most`. */
export interface OwedOptions {
  forced: number;
  most?: number;
  /** Whether the task itself is looked at; else only a reply that is empty or breaks off owes anything. */
  checksTask?: boolean | undefined;
  prompts?: Prompts | undefined;
}

/**
 * What is still owed after a reply without calls: another forced round, or nothing. A reply that repeats the one before
 * it has nothing to add.
 */
export function owed(
  turn: Turn,
  { forced, most = maxForced, checksTask = false, prompts = builtInPrompts }: OwedOptions,
): ForcedPrompt | null {
  const last = turn.rounds.at(-1);
  if (last === undefined || last.calls.length > 0 || forced >= most || repeatsItself(turn)) return null;
  const reply = last.text.trim();
  if (reply === "") return { kind: "empty_reply", prompt: emptyReplyPrompt(prompts) };
  const task = checksTask ? assessTask(turn) : noTask;
  if (task.verdict === "incomplete" && task.task !== null) {
    const progress = progressText({ ...task, task: task.task });
    return task.task === "recursive_check"
      ? { kind: "folder_check", prompt: folderCheckPrompt({ progress, remaining: task.remaining }, prompts) }
      : { kind: "file_move", prompt: fileMovePrompt({ progress, remaining: task.remaining }, prompts) };
  }
  if (breaksOff(reply)) return { kind: "incomplete_reply", prompt: incompleteReplyPrompt(prompts) };
  return owesContent(turn, task) ? { kind: "file_summary", prompt: fileSummaryPrompt(prompts) } : null;
}

/** The reply says why the rest was left, and announces no more work: that is an end, not a break. */
function explainsRest(reply: string, remaining: readonly string[]): boolean {
  if (asksToGoOn.test(reply) || promises.test(reply)) return false;
  return reasonsNotDone.test(reply) && accountsFor(reply, remaining);
}

/** A forced reply that says the same as the words it was to go on from, or as the forced one before it. */
function repeatsItself(turn: Turn): boolean {
  const last = turn.rounds.at(-1);
  if (last?.forced !== true) return false;
  const before = turn.rounds.slice(0, -1).filter(({ calls }) => calls.length === 0);
  return before.some(({ text }) => text.trim() === last.text.trim());
}
