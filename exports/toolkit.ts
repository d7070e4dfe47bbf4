import type { nodeRequest as buildRequest } from "../src/nodes/turn/node-request.ts";

/**
 * `millrace/toolkit`: what a toolkit is made of. Nothing here may import the list of toolkits, not even through others: the
 * list waits for the modules that import this.
 */
export { AppError, isAppError, type AppErrorOptions, type ErrorCode } from "@millrace/engine/errors/errors";
export type { Callback } from "../src/callbacks/callback.ts";
export { priorities, type CollectionContext, type Collector } from "../src/context/collector.ts";
export { readIfThere } from "../src/context/workspace/workspace-text.ts";
export type { CheckedCall, Guardrail, Verdict } from "../src/guardrails/guardrail.ts";
export { runLoop, type LoopOutcome } from "../src/loop/loop.ts";
export { emitEvent, promptsOf, runIdOf, sessionIdOf } from "../src/loop/services.ts";
export { defineTemplate, type Template } from "../src/prompts/template.ts";
export type { GraphState, WorkflowNode } from "../src/state.ts";
export { defineToolkit, type Toolkit } from "../src/toolkits/toolkit.ts";
export { failure, success, type ToolResult } from "../src/tools/runtime/result.ts";
export { defineTool, type Operation, type Tool, type ToolContext } from "../src/tools/runtime/tool.ts";

/** The request of a node's loop: the texts, tools and limits of its run. */
export async function nodeRequest(...given: Parameters<typeof buildRequest>): Promise<ReturnType<typeof buildRequest>> {
  const { nodeRequest: build } = await import("../src/nodes/turn/node-request.ts");
  return build(...given);
}
