import type { ToolMessage } from "@langchain/core/messages";
import { Command, type LangGraphRunnableConfig } from "@langchain/langgraph";
import type { ResultMode } from "../state.ts";
import { toolSpan } from "@millrace/engine/tracing";
import { toolNotFound } from "../tools/runtime/registry.ts";
import { executeCall } from "../tools/runtime/execute-call.ts";
import { prepareCall } from "../tools/runtime/run-tool.ts";
import type { Tool } from "../tools/runtime/tool.ts";
import { changedSince } from "../tools/workspace/seen-files.ts";
import { callableTools } from "./model-call/callable-tools.ts";
import { notApproved } from "./tool-call/judge-call.ts";
import { parallelCallLimit } from "./limits/limits.ts";
import { planDelegation } from "./sub-agents/plan-delegation.ts";
import { advancePhase } from "./limits/advance-phase.ts";
import { emit, loopCall, recordMessages, userLanguage } from "./request.ts";
import { toToolMessage, type AnsweredCall } from "./tool-call/result-message.ts";
import { ledgerCall, inspectRequestedCall, toolContext } from "./tool-call/rulings.ts";
import { afterWaiting, profilesOf, servicesOf } from "./services.ts";
import { reportingElapsed } from "./model-call/slow-call.ts";
import type { EndReason, LoopUpdate } from "./state.ts";
import { writtenArguments, type ToolTask } from "./tool-call/tool-task.ts";
import { failure, userMessageOf, type ToolResult } from "../tools/runtime/result.ts";

/**
 * Runs one call and returns one result message (law 6). It has effects and never interrupts (law 1); the ledger rows
 * surround the effect (law 3). A failed tool returns a result too; only a stop is thrown.
 */
export async function callTool(task: ToolTask, config: LangGraphRunnableConfig): Promise<Command> {
  const goto = task.beside_agents === true ? "delegate" : "assemble";
  return new Command({ update: await answered(task, config), goto });
}

async function answered(task: ToolTask, config: LangGraphRunnableConfig): Promise<LoopUpdate> {
  const { call } = task;
  advancePhase(config, "tool_started", "executing", task.iteration);
  const status = { type: "tool_status", tool_call_id: call.id, tool_name: call.name } as const;
  if (loopCall(config).early?.has(call.id) !== true) emit(config, { ...status, status: "executing" });
  emit(config, {
    type: "agentic_loop.tool_called",
    tool_call_id: call.id,
    tool_name: call.name,
    arguments: task.outcome.kind === "run" ? (task.outcome.edited ?? call.args) : call.args,
  });
  const handed = planDelegation(task, config);
  if (handed?.kind === "work") return { delegations: { [task.ledger_id]: handed.work } };
  const result =
    handed?.result ??
    (await reportingElapsed(
      () => resultOf(task, config),
      (elapsed_seconds) => emit(config, { ...status, status: "executing", elapsed_seconds }),
    ));
  // The ledger has only calls that ran.
  const whole = task.outcome.kind === "run" ? task.ledger_id : undefined;
  return { messages: [resultMessage({ ...task.call, ...(whole === undefined ? {} : { whole }) }, result, config)] };
}

/** Turns a result into its message, records it and emits its events. Each call has exactly one (law 6). */
export function resultMessage(call: AnsweredCall, result: ToolResult, config: LangGraphRunnableConfig): ToolMessage {
  const status = { type: "tool_status", tool_call_id: call.id, tool_name: call.name } as const;
  const { limits, tools } = loopCall(config);
  const tool = tools.find(({ name }) => name === call.name);
  const end = tool === undefined ? undefined : endOf(tool, result, loopCall(config).resultMode);
  // The final result, written by the model itself, is not cut.
  const maxLength = end === "completed" ? Infinity : limits.tool_result_max_length;
  const message = toToolMessage(
    { call },
    result,
    maxLength,
    end,
    tools.some(({ offered }) => offered?.onlyWhenHistoryCut),
  );
  recordMessages(config, [message]);
  emit(config, {
    type: "agentic_loop.tool_result",
    tool_call_id: call.id,
    tool_name: call.name,
    success: result.success,
    result_preview: userMessageOf(result, userLanguage(loopCall(config))).slice(0, 200),
  });
  if (result.operation !== undefined) {
    const { type: operation, ...more } = result.operation;
    if (operation !== "edit") servicesOf(config).changedFiles?.record(more.path, Date.now());
    emit(config, { type: "operation_recorded", tool_call_id: call.id, operation, ...more });
  }
  const plan = result.session?.["task_plan"];
  if (plan !== undefined) emit(config, { type: "plan", plan });
  if (result.document !== undefined) {
    const operation_id = result.operation?.operation_id ?? null;
    emit(config, { type: "document_edited", tool_call_id: call.id, operation_id, ...result.document });
  }
  const refused = result.errorType === "blocked" || result.errorType === "denied";
  emit(config, { ...status, status: result.success ? "completed" : refused ? "blocked" : "failed" });
  return message;
}

/** Why this result ends the turn, if it does; the run's `result_mode` overrides the tool's. */
function endOf(tool: Tool, { success }: ToolResult, ofRun: ResultMode | undefined): EndReason | undefined {
  if (!success) return undefined;
  if (tool.inTurn?.completes === true) return "completed";
  return (ofRun ?? tool.inTurn?.resultMode) === "show" ? "answered" : undefined;
}

async function resultOf(task: ToolTask, config: LangGraphRunnableConfig): Promise<ToolResult> {
  const { outcome } = task;
  const { tools } = loopCall(config);
  switch (outcome.kind) {
    case "answer":
      return outcome.result;
    case "refuse":
      return { success: false, code: outcome.code, message: outcome.reason, errorType: outcome.errorType };
    case "unknown_tool": {
      const { forcedTool } = loopCall(config);
      const callable = callableTools(loopCall(config), task.forced === true).map((tool) => tool.name);
      const isKnown = tools.some(({ name }) => name === task.call.name);
      return isKnown && forcedTool !== undefined
        ? notNow(task.call.name, forcedTool)
        : toolNotFound(task.call.name, callable);
    }
    case "run": {
      const tool = tools.find((candidate) => candidate.name === task.call.name);
      if (tool === undefined) return toolLost(task.call.name);
      const prepared = prepareCall(tool, outcome.edited ?? writtenArguments(task.call.args));
      return prepared.kind === "ready"
        ? await runOnce(tool, prepared.input, outcome.approved, task, config)
        : prepared.result;
    }
  }
}

/** The result of a call that breaks the rule for a chosen tool: it is called first and once, others after it. */
function notNow(name: string, chosen: string): ToolResult {
  const isChosen = name === chosen;
  return failure(
    "tool_not_found",
    isChosen ? `${name} was to be called once, and was.` : `Not run: the user has chosen ${chosen}, which comes first.`,
    isChosen ? "Answer with what it gave." : `Call ${chosen}.`,
  );
}

/** The result if a source's tool disappeared between the decision and the restart after a crash. */
function toolLost(name: string): ToolResult {
  return {
    success: false,
    code: "TOOL_LOST",
    message:
      `${name} is not there any more, and was not run now. Whether it was run before the interruption is not known. ` +
      "Look at the present state before you go on, and tell the user.",
    errorType: "tool_not_found",
  };
}

async function runOnce(
  tool: Tool,
  input: Record<string, unknown>,
  approved: string | undefined,
  task: ToolTask,
  config: LangGraphRunnableConfig,
): Promise<ToolResult> {
  // After a stop nothing starts, not even the ledger row.
  config.signal?.throwIfAborted();
  const { limits } = loopCall(config);
  const over = task.outcome.kind === "run" ? task.outcome.over : undefined;
  const refuse = async (): Promise<ToolResult | undefined> =>
    (approved === undefined ? undefined : await refuseUnless(approved, tool, input, config)) ??
    (over === undefined ? undefined : await changedSince(tool, input, toolContext(config), over));
  const { early } = loopCall(config);
  const toRun = approved === undefined && early !== undefined ? early.planDelegation(tool, task.call) : tool;
  const call = { ...ledgerCall(toRun, input, task.ledger_id, config), refuse };
  const services = servicesOf(config);
  const runtime = toRun === tool ? services : afterWaiting(services);
  const result = await toolSpan({ name: tool.name, id: task.call.id }, input, config, () =>
    executeCall(call, runtime, {
      retries: limits.max_tool_retries,
      timeoutSeconds: limits.tool_timeout_seconds ?? tool.timeoutSeconds,
      maxParallel: parallelCallLimit(loopCall(config), profilesOf(config)),
      onRetry: (attempt, reason) => emit(config, { type: "retry", what: `tool_${tool.name}`, attempt, reason }),
    }),
  );
  config.signal?.throwIfAborted();
  return result;
}

/** Refuses a call whose effect is no longer what was approved. */
async function refuseUnless(
  approved: string,
  tool: Tool,
  input: Record<string, unknown>,
  config: LangGraphRunnableConfig,
): Promise<ToolResult | undefined> {
  const { hash } = await inspectRequestedCall(tool, input, config);
  return hash === approved ? undefined : notApproved(tool);
}
