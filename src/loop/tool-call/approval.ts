import { createHash } from "node:crypto";
import { mayRemember } from "../../guardrails/grants.ts";
import { confirmingWords } from "@millrace/engine/sessions/questions/questions";
import { canonicalJson } from "../../tools/runtime/canonical-json.ts";
import type { Operation } from "../../tools/runtime/tool.ts";

/**
 * The question put to a person about one tool call (kind `confirmation`). It carries LangChain's human-in-the-loop
 * request, so that existing clients can show and answer it.
 */
export interface ConfirmationRequest extends ReviewRequest {
  kind: "confirmation";
  question: string;
  tool_call_id: string;
  tool: string;
  /** What a yes stands for: see `approvalHash`. */
  hash: string;
  /** What the call would do, as it was found when the question was put. */
  operation: Operation;
  /** Whether a yes may be remembered for later calls. */
  may_remember: boolean;
  /** Words of which each is a yes. */
  keywords: readonly string[];
  /** Set when the last answer could not be used: what was wrong with it. */
  problem?: string;
}

/** One action that is asked about. */
export interface ActionRequest {
  name: string;
  args: Record<string, unknown>;
  description: string;
}

/** What may be decided about an action, in both spellings. */
interface ReviewConfig {
  actionName: string;
  action_name: string;
  allowedDecisions: readonly string[];
  allowed_decisions: readonly string[];
}

/**
 * LangChain's human-in-the-loop request in both spellings in use. Each entry has both too: clients take one of the two
 * lists and look in it for names of the other spelling.
 */
export interface ReviewRequest {
  actionRequests: ActionRequest[];
  reviewConfigs: ReviewConfig[];
  action_requests: ActionRequest[];
  review_configs: ReviewConfig[];
}

/** The request about one action. */
export function reviewRequest(action: ActionRequest, allowed: readonly string[]): ReviewRequest {
  const review: ReviewConfig = {
    actionName: action.name,
    action_name: action.name,
    allowedDecisions: allowed,
    allowed_decisions: allowed,
  };
  return { actionRequests: [action], reviewConfigs: [review], action_requests: [action], review_configs: [review] };
}

/** A question and what it is about. `operation` holds the facts as they were found. */
export interface Asked {
  question: string;
  hash: string;
  operation: Operation;
}

/**
 * What an approval is bound to: the tool, its arguments, the workspace, and what the call would do there. Another
 * target or other facts (one file more in the folder) give another hash. Hexadecimal SHA-256 of canonical JSON.
 */
export function approvalHash(bound: {
  tool: string;
  args: Record<string, unknown>;
  workspace: string;
  operation: Operation;
}): string {
  return createHash("sha256").update(canonicalJson(bound)).digest("hex");
}

/** Builds the question for one call. */
export function confirmationRequest(
  call: { id: string; name: string; args: Record<string, unknown> },
  { question, hash, operation }: Asked,
  problem?: string,
): ConfirmationRequest {
  const action = { name: call.name, args: call.args, description: question };
  return {
    kind: "confirmation",
    question,
    tool_call_id: call.id,
    tool: call.name,
    hash,
    operation,
    may_remember: mayRemember(operation),
    keywords: confirmingWords,
    ...(problem === undefined ? {} : { problem }),
    ...reviewRequest(action, ["approve", "edit", "reject"]),
  };
}
