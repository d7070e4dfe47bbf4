import { isHumanMessage } from "@langchain/core/messages";
import type { Language } from "@millrace/engine/language";
import { chainQuestion, confirmingWords } from "@millrace/engine/sessions/questions/questions";
import { readTurn, type PastCall, type Turn } from "../../guardrails/turn.ts";
import type { Tool } from "../../tools/runtime/tool.ts";
import { isYes } from "@millrace/engine/sessions/questions/read-decision";
import { reviewRequest, type ReviewRequest } from "./approval.ts";
import { readUserAnswer } from "./question.ts";
import type { LoopRequest } from "../request.ts";
import type { Outcome } from "./tool-task.ts";

/**
 * The question whether a further tool of a guarded turn may run (kind `chain_confirm`), with the words that confirm. It carries LangChain's human-in-the-loop request too, so that existing clients can show it.
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
 * Whether a call is a further one of a guarded turn: a tool has run since the user's last message, in this loop call or
 * an earlier one of the turn. In a turn with a chosen tool, every call of another tool is.
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
  // Besides the tool that the user has chosen, nothing runs without their word.
  if (forcedTool !== undefined && tool.name !== forcedTool) return true;
  if (toolPolicy !== "guarded") return false;
  // The call that sent the agent was the turn's first tool.
  if (agent !== undefined) return true;
  const before = history.slice(history.findLastIndex((message) => isHumanMessage(message)) + 1);
  const rounds = [...readTurn(before, { userRequest: "", tools }).rounds, ...(turn?.rounds ?? [])];
  return rounds.some(({ calls }) => calls.some((call) => hasRun(call) && isPart(call.tool, tools)));
}

/** Failures of a call that never came to its tool, as `toToolMessage` writes them. */
const neverBegun = /^Error \((tool_not_found|invalid_format|invalid_parameter|missing_parameter)\)/u;

function hasRun({ outcome, result }: PastCall): boolean {
  return outcome === "success" || (outcome === "failed" && !neverBegun.test(result));
}

/** A question to the user and the end of the turn are no tools of a chain. */
function isPart(name: string, tools: readonly Tool[]): boolean {
  const known = tools.find((candidate) => candidate.name === name);
  return known?.inTurn?.asks === undefined && known?.inTurn?.completes === undefined;
}

/** Builds the question for one call. */
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

/** What was answered. `said`: the words of somebody who did not confirm. */
export type ChainAnswer = { kind: "confirmed" } | { kind: "declined"; said: string | null };

/** Reads an answer: a word that confirms, or a decision to approve, as clients spell them. Anything else declines. */
export function readChainAnswer(answer: unknown): ChainAnswer {
  const given = readUserAnswer(answer);
  switch (given.kind) {
    case "agreed":
      return { kind: "confirmed" };
    case "words":
      return isYes(given.text) ? { kind: "confirmed" } : { kind: "declined", said: given.text };
    case "declined":
      return { kind: "declined", said: given.why === "" ? null : given.why };
    case "unclear":
      return { kind: "declined", said: null };
  }
}

/** The refusal that the model reads. */
export function declinedChain(said: string | null): Outcome {
  const words = said === null ? "" : ` They said: ${said}`;
  return {
    kind: "refuse",
    code: "CHAIN_DECLINED",
    errorType: "denied",
    reason: `The user did not confirm a further tool in this turn.${words} Call no further tool; answer with what is known.`,
  };
}
