import { randomUUID } from "node:crypto";
import { ToolMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { AppError } from "../errors.ts";
import { toolSpan } from "../tracing.ts";
import { toolNotFound } from "../tools/registry.ts";
import { prepareCall, runTool } from "../tools/run-tool.ts";
import type { Tool, ToolResult } from "../tools/tool.ts";
import { emit, loopCall, move, note } from "./request.ts";
import { lookAt, toolContext } from "./rulings.ts";
import { runIdOf, servicesOf, sessionIdOf } from "./services.ts";
import type { LoopUpdate } from "./state.ts";
import { writtenArguments, type ToolTask } from "./tool-task.ts";

/**
 * One call, one result message (law 6). It has the effects and never interrupts (law 1); the ledger stands around the
 * effect (law 3). A failing tool is a result like any other (LOOP-10); only a stop of the run is thrown.
 */
export async function callTool(task: ToolTask, config: LangGraphRunnableConfig): Promise<LoopUpdate> {
  const { call } = task;
  move(config, "tool_started", "executing", task.iteration);
  const status = { type: "tool_status", tool_call_id: call.id, tool_name: call.name } as const;
  emit(config, { ...status, status: "executing" });
  emit(config, {
    type: "agentic_loop.tool_called",
    tool_call_id: call.id,
    tool_name: call.name,
    arguments: task.outcome.kind === "run" ? (task.outcome.edited ?? call.args) : call.args,
  });
  const result = await resultOf(task, config);
  const message = toToolMessage(task, result, loopCall(config).limits.tool_result_max_length);
  note(config, [message]);
  emit(config, {
    type: "agentic_loop.tool_result",
    tool_call_id: call.id,
    tool_name: call.name,
    success: result.success,
    result_preview: result.message.slice(0, 200),
  });
  const refused = task.outcome.kind === "refuse";
  emit(config, { ...status, status: result.success ? "completed" : refused ? "blocked" : "failed" });
  return { messages: [message] };
}

async function resultOf(task: ToolTask, config: LangGraphRunnableConfig): Promise<ToolResult> {
  const { outcome } = task;
  const { tools } = loopCall(config);
  switch (outcome.kind) {
    case "answer":
      return outcome.result;
    case "refuse":
      return { success: false, code: outcome.code, message: outcome.reason, errorType: outcome.errorType };
    case "unknown_tool":
      return toolNotFound(
        task.call.name,
        tools.map((tool) => tool.name),
      );
    case "run": {
      const tool = tools.find((candidate) => candidate.name === task.call.name);
      if (tool === undefined)
        throw new AppError("invalid_state", `The tool ${task.call.name} is not offered any more.`);
      const prepared = prepareCall(tool, outcome.edited ?? writtenArguments(task.call.args));
      return prepared.kind === "ready"
        ? await runOnce(tool, prepared.input, outcome.approved, task, config)
        : prepared.result;
    }
  }
}

async function runOnce(
  tool: Tool,
  input: Record<string, unknown>,
  approved: string | undefined,
  task: ToolTask,
  config: LangGraphRunnableConfig,
): Promise<ToolResult> {
  // After a stop no effect begins, not even a row that says so.
  config.signal?.throwIfAborted();
  const services = servicesOf(config);
  const sessionId = sessionIdOf(config);
  const answer = await services.ledger.start({
    session_id: sessionId,
    tool_call_id: task.ledger_id,
    run_id: runIdOf(config),
    tool: tool.name,
    effect: tool.effect,
  });
  if (answer.kind === "finished") {
    // The ledger stores what finish() below wrote: a ToolResult.
    return answer.result as ToolResult;
  }
  if (answer.kind === "unknown") return outcomeUnknown(tool, answer.started_at);
  const { limits } = loopCall(config);
  // A repeated call may have begun to change what was approved: then the facts say nothing any more.
  const bound = approved === undefined || answer.kind === "repeat" ? tool : boundTo(approved, tool, config);
  const result = await toolSpan(tool.name, input, config, async () =>
    runTool(bound, input, toolContext(config, answer.kind === "repeat"), {
      locks: services.locks,
      retries: limits.max_tool_retries,
      maxParallel: limits.max_parallel_tools,
    }),
  );
  // A call that a stop cut off has no known end: it stays open in the ledger. One that ended just before has.
  if (result.errorType !== "cancelled") await services.ledger.finish(sessionId, task.ledger_id, result);
  config.signal?.throwIfAborted();
  return result;
}

/** The tool, which runs only while the call would do what the approved hash stands for. It looks under the call's locks. */
function boundTo(approved: string, tool: Tool, config: LangGraphRunnableConfig): Tool {
  return {
    ...tool,
    run: async (input, context) => {
      const { hash } = await lookAt(tool, input, config);
      context.signal.throwIfAborted();
      if (hash === approved) return tool.run(input, context);
      return {
        success: false,
        code: "NOT_APPROVED",
        message:
          `Not run: what ${tool.name} would do now is not what was approved. Look at the present state; if the call is ` +
          "still needed, make it again, and it will be asked about again.",
        errorType: "denied",
      };
    },
  };
}

function outcomeUnknown(tool: Tool, startedAt: string): ToolResult {
  return {
    success: false,
    code: "OUTCOME_UNKNOWN",
    message:
      `The server stopped while ${tool.name} was running (started ${startedAt}). Whether it took effect is not known, and ` +
      "it was not repeated. Look at the present state before you go on, and tell the user.",
    errorType: "execution_failed",
  };
}

/** The message the model reads: the content, or the message with its data; cut with a visible mark (LOOP-09). */
export function toToolMessage(
  task: { call: { id: string; name: string } },
  result: ToolResult,
  maxLength: number,
): ToolMessage {
  const text =
    result.content ??
    (result.data === undefined ? result.message : `${result.message}\n${JSON.stringify(result.data)}`);
  const content = result.success ? text : `Error (${result.errorType ?? "execution_failed"}): ${text}`;
  return new ToolMessage({
    id: randomUUID(),
    tool_call_id: task.call.id,
    name: task.call.name,
    status: result.success ? "success" : "error",
    content: cut(content, maxLength),
    additional_kwargs: {
      timestamp: new Date().toISOString(),
      success: result.success,
      code: result.code,
      ...(result.errorType === undefined ? {} : { errorType: result.errorType }),
    },
  });
}

function cut(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  return `${text.slice(0, maxLength)}\n[… cut: ${text.length - maxLength} of ${text.length} characters are not shown]`;
}
