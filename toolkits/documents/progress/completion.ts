import type { CompletionCheck, ForcedPrompt, TaskVerdict } from "../../../src/guardrails/completion.ts";
import { breaksOff, promises } from "../../../src/guardrails/reply-completeness.ts";
import type { Turn } from "../../../src/guardrails/turn.ts";
import type { Prompts } from "../../../src/prompts/prompts.ts";
import { fileMovePrompt } from "../prompts/file-move.ts";
import { fileSummaryPrompt } from "../prompts/file-summary.ts";
import { folderCheckPrompt } from "../prompts/folder-check.ts";
import { progressText } from "../prompts/task-progress.ts";
import { accountsFor } from "./reply-content.ts";
import { owesContent } from "./summary.ts";
import { checkingProgress, movingProgress, noTask, readingProgress } from "./task-progress.ts";
import { asksToGoOn, reasonsNotDone } from "./task-words.ts";

/** Whether the requested files were all moved or checked, and what was read was reported. */
export const documentCompletion: CompletionCheck = { assess: assessTask, neededRound: owedWork };

/**
 * The turn's multi-step task and its progress. If the reply explains why the rest was left, no more work is requested.
 */
function assessTask(turn: Turn): TaskVerdict {
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

function owedWork(turn: Turn, prompts: Prompts): ForcedPrompt | null {
  const task = assessTask(turn);
  if (task.verdict === "incomplete" && task.task !== null) {
    const progress = progressText({ ...task, task: task.task });
    return task.task === "recursive_check"
      ? { kind: "folder_check", prompt: folderCheckPrompt({ progress, remaining: task.remaining }, prompts) }
      : { kind: "file_move", prompt: fileMovePrompt({ progress, remaining: task.remaining }, prompts) };
  }
  // An unfinished reply is continued first.
  if (breaksOff(turn.rounds.at(-1)?.text ?? "")) return null;
  return owesContent(turn, task) ? { kind: "file_summary", prompt: fileSummaryPrompt(prompts) } : null;
}

/** The reply explains why the rest was left and announces no more work: a deliberate end. */
function explainsRest(reply: string, remaining: readonly string[]): boolean {
  if (asksToGoOn.test(reply) || promises.test(reply)) return false;
  return reasonsNotDone.test(reply) && accountsFor(reply, remaining);
}
