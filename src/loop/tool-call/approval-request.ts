import { createHash } from "node:crypto";
import { mayRemember } from "../../guardrails/grants.ts";
import { confirmingWords } from "@millrace/engine/sessions/questions/questions";
import { canonicalJson } from "../../tools/runtime/canonical-json.ts";
import type { Operation } from "../../tools/runtime/tool.ts";

/**
 * The interrupt that asks to approve a tool call (kind `confirmation`). Contains LangChain's human-in-the-loop request,
 * so that existing clients can show and answer it.
 */
export interface ConfirmationRequest extends ReviewRequest {
  kind: "confirmation";
  question: string;
  tool_call_id: string;
  tool: string;
  /** What an approval is bound to: see `approvalHash`. */
  hash: string;
  /** What the call would do, determined when asking. */
  operation: Operation;
  /** Whether the approval may be remembered for later calls. */
  may_remember: boolean;
  /** Words that approve. */
  keywords: readonly string[];
  /** Why the last answer could not be used. */
  problem?: string;
}

/** An action to approve. */
export interface ActionRequest {
  name: string;
  args: Record<string, unknown>;
  description: string;
}

/** Allowed decisions for an action, in both spellings. */
interface ReviewConfig {
  actionName: string;
  action_name: string;
  allowedDecisions: readonly string[];
  allowed_decisions: readonly string[];
}

/** LangChain's human-in-the-loop request in both spellings, for lists and entries: clients mix them. */
export interface ReviewRequest {
  actionRequests: ActionRequest[];
  reviewConfigs: ReviewConfig[];
  action_requests: ActionRequest[];
  review_configs: ReviewConfig[];
}

/** Builds the request for one action. */
export function reviewRequest(action: ActionRequest, allowed: readonly string[]): ReviewRequest {
  const review: ReviewConfig = {
    actionName: action.name,
    action_name: action.name,
    allowedDecisions: allowed,
    allowed_decisions: allowed,
  };
  return { actionRequests: [action], reviewConfigs: [review], action_requests: [action], review_configs: [review] };
}

/** A question, the operation it is about, and that operation's hash. */
export interface ApprovalQuestion {
  question: string;
  hash: string;
  operation: Operation;
}

/**
 * What an approval is bound to: the tool, its arguments, the workspace, and what the call would do. Another target or
 * changed facts (one more file in the folder) give another hash. Hex SHA-256 of canonical JSON.
 */
export function approvalHash(bound: {
  tool: string;
  args: Record<string, unknown>;
  workspace: string;
  operation: Operation;
}): string {
  return createHash("sha256").update(canonicalJson(bound)).digest("hex");
}

/** Builds the interrupt for one call. */
export function confirmationRequest(
  call: { id: string; name: string; args: Record<string, unknown> },
  { question, hash, operation }: ApprovalQuestion,
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
