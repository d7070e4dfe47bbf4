import type { Operation, Tool } from "../tools/runtime/tool.ts";

/** A tool call as rules see it: a known tool with valid arguments and its operation. */
export interface CheckedCall {
  tool: Tool;
  input: Record<string, unknown>;
  operation: Operation;
  /** The user's message of this turn. */
  userRequest: string;
  /** The session waits for a confirmation. */
  requiresConfirm: boolean;
}

/** A rule's verdict. Only `check_calls` turns `ask` into an interrupt. */
export type Verdict = { kind: "allow" } | { kind: "deny"; reason: string } | { kind: "ask"; question: string };

/** A pure rule over one tool call. */
export type Guardrail = (call: CheckedCall) => Verdict;
