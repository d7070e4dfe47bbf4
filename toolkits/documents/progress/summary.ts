import { sharesWords } from "./reply-content.ts";
import type { TaskVerdict } from "../../../src/guardrails/completion.ts";
import { filesRead } from "./task-progress.ts";
import { summaryMarkers } from "./task-words.ts";
import type { Turn } from "../../../src/guardrails/turn.ts";

/** Minimum characters of a summary. */
const minSummaryLength = 50;

/**
 * Whether a reply still owes the user the content of a text they asked about. Changes to the workspace, or writing the
 * text down, count as delivering it.
 */
export function owesContent(turn: Turn, { task, verdict }: TaskVerdict): boolean {
  if (verdict !== "completed" || task !== "reading" || hasChanged(turn)) return false;
  const reply = turn.rounds.at(-1)?.text.trim() ?? "";
  const isLong = reply.length > minSummaryLength;
  // The user got a long answer after a request for it, or the reply is a summary.
  if (isLong && (wasRequested(turn) || summaryMarkers.test(reply))) return false;
  const read = filesRead(turn).map(({ result }) => result);
  return !sharesWords(reply, read.join("\n"));
}

function hasChanged(turn: Turn): boolean {
  return turn.rounds.some(({ calls }) => calls.some(({ changes, outcome }) => changes && outcome === "success"));
}

/** Whether a reply since the last call was already forced: the summary was requested. */
function wasRequested(turn: Turn): boolean {
  const last = turn.rounds.findLastIndex(({ calls }) => calls.length > 0);
  return turn.rounds.slice(last + 1).some(({ forced }) => forced);
}
