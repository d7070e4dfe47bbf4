import type { Operation, Tool } from "../tools/runtime/tool.ts";

/** A tool call as a rule sees it: known tool, valid arguments, and what the call would do. */
export interface CheckedCall {
  tool: Tool;
  input: Record<string, unknown>;
  operation: Operation;
  /** The user's own words of this turn. */
  userRequest: string;
  /** The session waits for a confirmation that has not come. */
  requiresConfirm: boolean;
}

/** What a rule says of a call. One place, `check_calls`, turns `ask` into an interrupt. */
export type Verdict = { kind: "allow" } | { kind: "deny"; reason: string } | { kind: "ask"; question: string };

/** A rule over one tool call: pure, without effects. */
export type Guardrail = (call: CheckedCall) => Verdict;
