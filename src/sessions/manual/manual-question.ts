import { mayRemember } from "../../guardrails/grants.ts";
import { judgeCall, inspectCall, notApproved } from "../../loop/tool-call/judge-call.ts";
import type { SharedRunServices } from "../../loop/services.ts";
import type { Tool, ToolContext } from "../../tools/runtime/tool.ts";
import type { ManualAnswer, ManualCall } from "./manual-call.ts";
import type { ToolResult } from "../../tools/runtime/result.ts";

/** The ruling: run, refuse with a result, or a question not answered by the hash in `call`. */
export async function questionAbout(
  tool: Tool,
  input: Record<string, unknown>,
  call: ManualCall,
  context: ToolContext,
  { grants, toolkits }: SharedRunServices,
): Promise<ManualAnswer | { kind: "run"; approved?: string }> {
  const looking = { ...context, callId: "" };
  const circumstances = { userRequest: "", requiresConfirm: false, grants, toolkits };
  const ruling = await judgeCall(tool, input, looking, circumstances);
  switch (ruling.kind) {
    case "run":
      return ruling;
    case "refuse": {
      const { code, reason: message, errorType } = ruling;
      return { kind: "ran", call_id: null, message_ids: [], result: { success: false, code, message, errorType } };
    }
    case "ask": {
      const { question, operation, hash } = ruling.asked;
      if (call.approved_hash === hash) return { kind: "run", approved: hash };
      const has_changed = call.approved_hash !== undefined;
      return { kind: "ask", question, operation, args: input, hash, may_remember: mayRemember(operation), has_changed };
    }
  }
}

/** The refusal of a call that has become another one since it was approved (its target has changed); else `undefined`. */
export async function refuseUnless(
  approved: string,
  tool: Tool,
  input: Record<string, unknown>,
  context: ToolContext,
): Promise<ToolResult | undefined> {
  const { hash } = await inspectCall(tool, input, { ...context, callId: "" });
  return hash === approved ? undefined : notApproved(tool);
}
