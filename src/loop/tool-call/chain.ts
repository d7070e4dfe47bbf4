import { isHumanMessage } from "@langchain/core/messages";
import type { Language } from "@millrace/engine/language";
import { chainQuestion, confirmingWords } from "@millrace/engine/sessions/questions/questions";
import { readTurn, type PastCall, type Turn } from "../../guardrails/turn.ts";
import type { Tool } from "../../tools/runtime/tool.ts";
import { isAffirmative } from "@millrace/engine/sessions/questions/read-decision";
import { reviewRequest, type ReviewRequest } from "./approval-request.ts";
import { readUserAnswer } from "./user-question.ts";
import type { LoopRequest } from "../request.ts";
import type { Outcome } from "./tool-task.ts";

/**
 * The interrupt that asks to run a further tool in a guarded turn (kind `chain_confirm`), with the confirming words.
 * Contains LangChain's human-in-the-loop request, so that existing clients can show it.
 */
export interface ChainRequest extends ReviewRequest {
  kind: "chain_confirm";
  question: string;
  keywords: readonly string[];
  tool_call_id: string;
  tool: string;
}

const allowed = ["approve", "reject", "respond", "answer"] as const;

/**
 * Whether a guarded turn already ran a tool since the user's last message, in this or an earlier loop call. With a
 * chosen tool, every call of another tool counts.
 */
export function isChained(
  tool: Tool,
  turn: Turn | undefined,
  {
    toolPolicy,
    forcedTool,
    history,
    tools,
    agent,
  }: Pick<LoopRequest, "toolPolicy" | "forcedTool" | "history" | "tools" | "agent">,
): boolean {
  if (tool.inTurn?.completes === true) return false;
  // Other tools than the chosen one need the user's consent.
  if (forcedTool !== undefined && tool.name !== forcedTool) return true;
  if (toolPolicy !== "guarded") return false;
  // The call that started the agent was the turn's first.
  if (agent !== undefined) return true;
  const before = history.slice(history.findLastIndex((message) => isHumanMessage(message)) + 1);
  const rounds = [...readTurn(before, { userRequest: "", tools }).rounds, ...(turn?.rounds ?? [])];
  return rounds.some(({ calls }) => calls.some((call) => hasRun(call) && isPart(call.tool, tools)));
}

/** Errors of calls that never reached their tool, as `toToolMessage` writes them. */
const neverBegun = /^Error \((tool_not_found|invalid_format|invalid_parameter|missing_parameter)\)/u;

function hasRun({ outcome, result }: PastCall): boolean {
  return outcome === "success" || (outcome === "failed" && !neverBegun.test(result));
}

/** Questions to the user and completions do not count. */
function isPart(name: string, tools: readonly Tool[]): boolean {
  const known = tools.find((candidate) => candidate.name === name);
  return known?.inTurn?.asks === undefined && known?.inTurn?.completes === undefined;
}

/** Builds the interrupt for one call. */
export function chainRequest(
  call: { id: string; name: string; args: Record<string, unknown> },
  language: Language,
): ChainRequest {
  const question = chainQuestion(call.name, language);
  const action = { name: call.name, args: call.args, description: question };
  return {
    kind: "chain_confirm",
    question,
    keywords: confirmingWords,
    tool_call_id: call.id,
    tool: call.name,
    ...reviewRequest(action, allowed),
  };
}

/** The user's answer; `comment` is the text of a refusal. */
export type ChainAnswer = { kind: "confirmed" } | { kind: "declined"; comment: string | null };

/** Reads an answer: a confirming word or an approval as clients spell it; anything else declines. */
export function readChainAnswer(answer: unknown): ChainAnswer {
  const given = readUserAnswer(answer);
  switch (given.kind) {
    case "agreed":
      return { kind: "confirmed" };
    case "words":
      return isAffirmative(given.text) ? { kind: "confirmed" } : { kind: "declined", comment: given.text };
    case "declined":
      return { kind: "declined", comment: given.why === "" ? null : given.why };
    case "unclear":
      return { kind: "declined", comment: null };
  }
}

/** The result for the model after a refusal. */
export function declinedChain(comment: string | null): Outcome {
  const words = comment === null ? "" : ` They said: ${comment}`;
  return {
    kind: "refuse",
    code: "CHAIN_DECLINED",
    errorType: "denied",
    reason: `The user did not confirm a further tool in this turn.${words} Call no further tool; answer with what is known.`,
  };
}
