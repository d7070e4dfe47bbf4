import { isAIMessage, isToolMessage, type BaseMessage, type ToolMessage } from "@langchain/core/messages";
import { type ForcedRound, EndReason } from "./state.ts";

/**
 * What follows a reply of the model. `uncalled`: the tool that the user has chosen, and that was asked for twice without a
 * call.
 */
export type Decision =
  | { kind: "calls" }
  | { kind: "force"; round: ForcedRound }
  | { kind: "end"; reason: EndReason; uncalled?: string };

/** Names the forced round that asks for the tool which the user has chosen. */
export const askedForTool = "tool_not_called";

/** Where the turn stands when a reply has come. */
export interface Standing {
  /** This call was the last one of the turn, for that reason. */
  closing: EndReason | null;
  /** Forced continuations so far, and how many there may be; none where the program reads the reply. */
  forced: number;
  maxForced: number;
  /** The tool that the user has chosen and that has not been called, how to ask for it, and whether that was done. */
  uncalled: { tool: string; prompt: string; wasAsked: boolean } | null;
  /** What is still owed; asked only where it matters. */
  owed: () => ForcedRound | null;
  /** Work is known to be left. */
  isIncomplete: () => boolean;
}

/**
 * The one place that says whether a reply ends the turn (law 7). Calls are followed; an empty reply and one that leaves
 * something owed are asked again, within a limit; any other is the answer. A closing reply always ends.
 */
export function afterReply(reply: { text: string; calls: number }, standing: Standing): Decision {
  if (standing.closing !== null) return { kind: "end", reason: standing.closing };
  if (reply.calls > 0) return { kind: "calls" };
  if (standing.uncalled !== null) {
    const { tool, prompt, wasAsked } = standing.uncalled;
    if (wasAsked) return { kind: "end", reason: "error", uncalled: tool };
    return { kind: "force", round: { kind: askedForTool, prompt } };
  }
  if (standing.maxForced === 0) return { kind: "end", reason: "answered" };
  const round = standing.forced < standing.maxForced ? standing.owed() : null;
  if (round !== null) return { kind: "force", round };
  // Asked again and again, it did not get on.
  const isStuck = standing.forced > 0 && (reply.text.trim() === "" || standing.isIncomplete());
  return { kind: "end", reason: isStuck ? "guardrail" : "answered" };
}

const Ending = EndReason.optional().catch(undefined);

/**
 * Whether the results of the last calls are the reply: all went well, and one of them is to be shown. `text` is what is
 * shown.
 */
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

/** Errors of results by which nothing has failed: a person or a rule has refused the call. */
const refusals: ReadonlySet<unknown> = new Set(["blocked", "denied"]);

/** Whether a tool has failed among the last calls. */
export function hasFailed(messages: readonly BaseMessage[]): boolean {
  return lastResults(messages).some(
    ({ status, additional_kwargs }) => status === "error" && !refusals.has(additional_kwargs["errorType"]),
  );
}

function lastResults(messages: readonly BaseMessage[]): ToolMessage[] {
  return messages.slice(messages.findLastIndex((message) => isAIMessage(message)) + 1).filter(isToolMessage);
}
