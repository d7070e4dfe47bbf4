import { isAppError } from "@millrace/engine/errors/errors";
import { grantCovers, mayRemember } from "../../guardrails/grants.ts";
import type { CheckedCall, Verdict } from "../../guardrails/guardrail.ts";
import { guardrails } from "../../guardrails/index.ts";
import { withMarks } from "../../guardrails/marked-files.ts";
import { riskyCommand } from "../../guardrails/rules/risky-command.ts";
import { locate } from "../../tools/workspace/workspace-path.ts";
import type { Operation, Tool, ToolContext } from "../../tools/runtime/tool.ts";
import { guardrailsOver } from "../../toolkits/toolkit.ts";
import { approvalHash } from "./approval-request.ts";
import type { RunServices } from "../services.ts";
import type { CallRuling } from "./tool-task.ts";
import type { ToolResult } from "../../tools/runtime/result.ts";

/** What the rules use besides the call: the user's request, remembered approvals, toolkits. */
export interface RuleInputs
  extends Pick<CheckedCall, "userRequest" | "requiresConfirm">, Pick<RunServices, "grants" | "toolkits"> {}

/**
 * Applies the rules and remembered approvals to a call with valid arguments, made by the model or by hand. Changes
 * nothing.
 */
export async function judgeCall(
  tool: Tool,
  input: Record<string, unknown>,
  context: ToolContext,
  ruleInputs: RuleInputs,
): Promise<Extract<CallRuling, { kind: "run" | "refuse" | "ask" }>> {
  const operation = await operationOf(tool, input, context);
  const verdict = applyRules({ tool, input, operation, ...ruleInputs }, ruleInputs.toolkits);
  switch (verdict.kind) {
    case "allow":
      return { kind: "run" };
    case "deny":
      return { kind: "refuse", code: "BLOCKED", errorType: "blocked", reason: verdict.reason };
    case "ask": {
      const hash = approvalHash({ tool: tool.name, args: input, workspace: context.workspace, operation });
      return (await isGranted(tool, operation, context, ruleInputs.grants))
        ? { kind: "run", approved: hash }
        : { kind: "ask", asked: { question: verdict.question, hash, operation } };
    }
  }
}

/** What a call would do now, and its approval hash. */
export async function inspectCall(
  tool: Tool,
  input: Record<string, unknown>,
  context: ToolContext,
): Promise<{ operation: Operation; hash: string }> {
  const operation = await operationOf(tool, input, context);
  return { operation, hash: approvalHash({ tool: tool.name, args: input, workspace: context.workspace, operation }) };
}

async function operationOf(tool: Tool, input: Record<string, unknown>, context: ToolContext): Promise<Operation> {
  const { workspace, extraApprovals } = context;
  // A tool that ends the turn only shows its command.
  const isChecked = tool.checksCommand === true || tool.inTurn?.completes === true;
  const risk = isChecked ? undefined : riskyCommand(input);
  const found = risk ?? (await tool.operation(input, context));
  return extraApprovals.criticalFiles.length === 0
    ? found
    : withMarks(found, await touchedPaths(tool, input, workspace), extraApprovals.criticalFiles);
}

/** All paths a call would change, as written and with links resolved. */
async function touchedPaths(tool: Tool, input: Record<string, unknown>, workspace: string): Promise<string[]> {
  const touched = tool.touches?.(input);
  if (touched === undefined || touched.kind === "document") return [];
  const written = touched.kind === "write" ? [touched.path] : [touched.from, touched.to];
  const places = await Promise.all(written.map((path) => placesOf(workspace, path)));
  return [...written, ...places.flat()];
}

/** The result for a call whose effect is no longer what was approved. */
export function notApproved(tool: Tool): ToolResult {
  return {
    success: false,
    code: "NOT_APPROVED",
    message:
      `Not run: what ${tool.name} would do now is not what was approved. Look at the present state; if the call is ` +
      "still needed, make it again, and it will be asked about again.",
    errorType: "denied",
  };
}

function applyRules(call: CheckedCall, toolkits: RunServices["toolkits"]): Verdict {
  for (const rule of guardrailsOver(call.tool.name, Object.values(guardrails), toolkits)) {
    const verdict = rule(call);
    if (verdict.kind !== "allow") return verdict;
  }
  return { kind: "allow" };
}

async function isGranted(
  tool: Tool,
  operation: Operation,
  { workspace, sessionId }: ToolContext,
  grants: RunServices["grants"],
): Promise<boolean> {
  if (!mayRemember(operation) || !("path" in operation)) return false;
  const known = (await grants?.(sessionId))?.filter((grant) => grant.tool === tool.name) ?? [];
  if (known.length === 0) return false;
  const paths = await placesOf(workspace, operation.path);
  return known.some((grant) => grantCovers(grant, { tool: tool.name, paths }));
}

/** A path as written and with links resolved; none if it is refused. */
async function placesOf(workspace: string, path: string): Promise<string[]> {
  try {
    const place = await locate(workspace, path, "keep");
    return [place.path, place.real.slice(workspace.length).replaceAll("\\", "/").replace(/^\/+/u, "")];
  } catch (error) {
    if (isAppError(error)) return [];
    throw error;
  }
}
