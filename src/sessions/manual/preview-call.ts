import { AppError } from "@millrace/engine/errors/errors";
import { requireSession } from "@millrace/engine/sessions/sessions";
import { effectOf, type CallEffect } from "../../tools/runtime/call-effect.ts";
import { prepareCall } from "../../tools/runtime/run-tool.ts";
import type { Operation } from "../../tools/runtime/tool.ts";
import { judgeCall, inspectCall } from "../../loop/tool-call/judge-call.ts";
import { contextOf, everyTool, requireTool } from "./tool-lookup.ts";
import type { ManualCall, ManualParts } from "./manual-call.ts";

/** A call before it is made. */
export type PreviewedCall = Pick<ManualCall, "tool" | "args" | "owner">;

/** A call that waits for approval; `operation` is its effect, as computed when the question was asked. */
export interface WaitingCall extends PreviewedCall {
  operation?: Operation | undefined;
}

/** A call's effect, ruling and approval hash. */
export interface CallPreview {
  effect: CallEffect;
  hash: string;
  ruling: { kind: "run" } | { kind: "ask"; question: string } | { kind: "refuse"; reason: string };
}

/** See `ManualTools.preview`. */
export async function previewCall(
  parts: ManualParts,
  sessionId: string,
  call: PreviewedCall,
  signal: AbortSignal,
): Promise<CallPreview> {
  const session = await requireSession(parts.storage, sessionId);
  const { services } = parts;
  const tool = await requireTool(services, call.tool, call.owner ?? session.owner, signal);
  const prepared = prepareCall(tool, call.args);
  if (prepared.kind === "invalid") {
    const { errorType = "invalid_parameter", message, suggestion } = prepared.result;
    throw new AppError(errorType, message, { suggestion });
  }
  const { input } = prepared;
  const context = contextOf(services, sessionId, { callId: "", owner: call.owner }, signal);
  const { operation, hash } = await inspectCall(tool, input, context);
  const { grants, toolkits } = services;
  const ruling = await judgeCall(tool, input, context, { userRequest: "", requiresConfirm: false, grants, toolkits });
  const effect = await effectOf(tool, input, context, operation);
  switch (ruling.kind) {
    case "run":
      return { effect, hash, ruling: { kind: "run" } };
    case "refuse":
      return { effect, hash, ruling: { kind: "refuse", reason: ruling.reason } };
    case "ask":
      return { effect, hash: ruling.asked.hash, ruling: { kind: "ask", question: ruling.asked.question } };
  }
}

/** See `ManualTools.effectOf`. */
export async function effectOfWaiting(
  parts: ManualParts,
  sessionId: string,
  call: WaitingCall,
  signal: AbortSignal,
): Promise<CallEffect | null> {
  const session = await requireSession(parts.storage, sessionId);
  const tools = await everyTool(parts.services, call.owner ?? session.owner, signal);
  const tool = tools.find(({ name }) => name === call.tool);
  if (tool === undefined) return null;
  const prepared = prepareCall(tool, call.args);
  if (prepared.kind === "invalid") return null;
  const context = contextOf(parts.services, sessionId, { callId: "", owner: call.owner }, signal);
  const operation = call.operation ?? (await inspectCall(tool, prepared.input, context)).operation;
  return await effectOf(tool, prepared.input, context, operation);
}
