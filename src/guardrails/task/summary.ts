import { countsOrNames, sharesWords } from "./reply-content.ts";
import { filesRead, type TaskVerdict } from "./task-progress.ts";
import { outcomeWords, summaryMarkers } from "./task-words.ts";
import type { Turn } from "../turn.ts";

/** A summary is longer than so many characters. */
const shortestSummary = 50;

/** Which summary a turn owes when its reply has none. */
export type OwedSummary = "task_summary" | "file_summary";

/** The summary that is still owed after a reply, or `null`. Several things done, or a text whose content was asked for. */
export function owedSummary(turn: Turn, { task, verdict, done }: TaskVerdict): OwedSummary | null {
  if (verdict !== "completed" || task === null || turn.isPart === true) return null;
  const reply = turn.rounds.at(-1)?.text.trim() ?? "";
  // The user was answered at length after being asked once: a second summary would be one too many.
  if (wasAsked(turn) && reply.length > shortestSummary) return null;
  if (task === "reading") return tellsContent(turn, reply) ? null : "file_summary";
  return tellsWork(turn, reply, done) ? null : "task_summary";
}

/** Longer than 50 characters with a word that marks a summary; or shorter, but with the outcome and its extent. */
function tellsWork(turn: Turn, reply: string, done: number): boolean {
  if (reply.length > shortestSummary && summaryMarkers.test(reply)) return true;
  const isOutcome = outcomeWords.test(reply) || summaryMarkers.test(reply);
  return isOutcome && countsOrNames(reply, done, pathsOf(turn));
}

/** The same; or it speaks of what stands in the text. A short text has a short answer. */
function tellsContent(turn: Turn, reply: string): boolean {
  if (reply.length > shortestSummary && summaryMarkers.test(reply)) return true;
  return sharesWords(
    reply,
    filesRead(turn)
      .map(({ result }) => result)
      .join("\n"),
  );
}

function pathsOf(turn: Turn): string[] {
  return turn.rounds.flatMap(({ calls }) =>
    calls.flatMap((call) => (call.outcome === "success" ? [call.path ?? "."] : [])),
  );
}

/** Whether a reply since the last call was already a forced one: then the summary has been asked for. */
function wasAsked(turn: Turn): boolean {
  const last = turn.rounds.findLastIndex(({ calls }) => calls.length > 0);
  return turn.rounds.slice(last + 1).some(({ forced }) => forced);
}
