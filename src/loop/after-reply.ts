import { isAIMessage, isToolMessage, type BaseMessage, type ToolMessage } from "@langchain/core/messages";
import { type ForcedRound, EndReason } from "./state.ts";

/** What follows a model's reply. `uncalled`: the chosen tool, requested twice and never called. */
export type Decision =
  | { kind: "calls" }
  | { kind: "force"; round: ForcedRound }
  | { kind: "end"; reason: EndReason; uncalled?: string };

/** Kind of the forced round that requests the chosen tool. */
export const toolRequested = "tool_not_called";

/** The turn's state when a reply arrives. */
export interface TurnProgress {
  /** Set if this was the turn's last model call: the reason. */
  closing: EndReason | null;
  /** Forced continuations so far and at most; none for silent calls. */
  forced: number;
  maxForced: number;
  /** The chosen tool that has not been called yet, the prompt that requests it, and whether that was sent. */
  uncalled: { tool: string; prompt: string; wasPrompted: boolean } | null;
  /** The unfinished work, computed only if needed. */
  neededRound: () => ForcedRound | null;
  /** Whether work is known to be left. */
  isIncomplete: () => boolean;
}

/**
 * The only place that decides whether a reply ends the turn (law 7). Tool calls are executed; an empty reply, or one
 * with unfinished work, gets another round, up to a limit; any other reply is the answer. A closing reply always ends.
 */
export function afterReply(reply: { text: string; calls: number }, turn: TurnProgress): Decision {
  if (turn.closing !== null) return { kind: "end", reason: turn.closing };
  if (reply.calls > 0) return { kind: "calls" };
  if (turn.uncalled !== null) {
    const { tool, prompt, wasPrompted } = turn.uncalled;
    if (wasPrompted) return { kind: "end", reason: "error", uncalled: tool };
    return { kind: "force", round: { kind: toolRequested, prompt } };
  }
  if (turn.maxForced === 0) return { kind: "end", reason: "answered" };
  const round = turn.forced < turn.maxForced ? turn.neededRound() : null;
  if (round !== null) return { kind: "force", round };
  // The forced rounds brought no progress.
  const isStuck = turn.forced > 0 && (reply.text.trim() === "" || turn.isIncomplete());
  return { kind: "end", reason: isStuck ? "guardrail" : "answered" };
}

const Ending = EndReason.optional().catch(undefined);

/** The last tool results as the reply, if all succeeded and one ends the turn; `text` is what is shown. Else `null`. */
export function afterTools(messages: readonly BaseMessage[]): { reason: EndReason; text: string } | null {
  const results = lastResults(messages);
  if (results.some(({ status }) => status === "error")) return null;
  const shown = results.flatMap((result) => {
    const ends = result.additional_kwargs["ends_turn"];
    const reason = ends === undefined ? undefined : Ending.parse(ends);
    return reason === undefined ? [] : [{ reason, text: result.text }];
  });
  const [first] = shown;
  if (first === undefined) return null;
  return { reason: first.reason, text: shown.map(({ text }) => text).join("\n\n") };
}

/** Error types that mean refused by a person or a rule, not failed. */
const refusals: ReadonlySet<unknown> = new Set(["blocked", "denied"]);

/** Whether one of the last calls failed. */
export function hasFailed(messages: readonly BaseMessage[]): boolean {
  return lastResults(messages).some(
    ({ status, additional_kwargs }) => status === "error" && !refusals.has(additional_kwargs["errorType"]),
  );
}

function lastResults(messages: readonly BaseMessage[]): ToolMessage[] {
  return messages.slice(messages.findLastIndex((message) => isAIMessage(message)) + 1).filter(isToolMessage);
}
