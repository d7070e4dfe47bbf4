import { callInTurn, type PastCall, type Round, type Turn } from "../../../../src/guardrails/turn.ts";
import { tools } from "../../../../src/tools/index.ts";

const known = Object.values(tools);

/** A call that has run. */
export function call(
  tool: string,
  args: Record<string, unknown>,
  result = "Done.",
  outcome: PastCall["outcome"] = "success",
): PastCall {
  return { id: crypto.randomUUID(), ...callInTurn(tool, args, known), outcome, result, metrics: null };
}

/** `list_files` with what it found. */
export const listing = (entries: string[], path?: string, note = ""): PastCall =>
  call("list_files", path === undefined ? {} : { path }, entries.join("\n") + note);

/** `move_file`, by default with success. */
export const move = (source: string, destination: string, outcome?: PastCall["outcome"]): PastCall =>
  call("move_file", { source, destination }, "Moved.", outcome);

/** A reply in words; `forced` when it answers a forced continuation. */
export const says = (text: string, forced = false): Round => ({ text, reasoning: "", calls: [], forced });

/** A turn: the request, then rounds; a list of calls is a round without words. */
export function turnOf(userRequest: string, ...rounds: (PastCall[] | Round)[]): Turn {
  return {
    userRequest,
    rounds: rounds.map((round) =>
      Array.isArray(round) ? { text: "", reasoning: "", calls: round, forced: false } : round,
    ),
  };
}
