import { sharesWords } from "./reply-content.ts";
import type { TaskVerdict } from "../../../src/guardrails/completion.ts";
import { filesRead } from "./task-progress.ts";
import { summaryMarkers } from "./task-words.ts";
import type { Turn } from "../../../src/guardrails/turn.ts";

/** A summary is longer than so many characters. */
const shortestSummary = 50;

/**
 * Whether a reply still owes the user the content of a text that was read because they asked what it says. Work that has
 * changed something speaks for itself, and so does a text that was written down.
 */
export function owesContent(turn: Turn, { task, verdict }: TaskVerdict): boolean {
  if (verdict !== "completed" || task !== "reading" || hasChanged(turn)) return false;
  const reply = turn.rounds.at(-1)?.text.trim() ?? "";
  const isLong = reply.length > shortestSummary;
  // The user was answered at length after being asked once, or the reply sums something up.
  if (isLong && (wasAsked(turn) || summaryMarkers.test(reply))) return false;
  const read = filesRead(turn).map(({ result }) => result);
  return !sharesWords(reply, read.join("\n"));
}

function hasChanged(turn: Turn): boolean {
  return turn.rounds.some(({ calls }) => calls.some(({ changes, outcome }) => changes && outcome === "success"));
}

/** Whether a reply since the last call was already a forced one: then the summary has been asked for. */
function wasAsked(turn: Turn): boolean {
  const last = turn.rounds.findLastIndex(({ calls }) => calls.length > 0);
  return turn.rounds.slice(last + 1).some(({ forced }) => forced);
}
