import type { BaseMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { questionFor } from "@millrace/engine/sessions/questions/questions";
import { withoutHidden } from "../../context/compression/marked.ts";
import { asksForMany, batchCount } from "../../guardrails/batch.ts";
import { asksToOverwrite } from "../../guardrails/rules/needs-approval.ts";
import { overwriting, type Overwriting } from "../../tools/workspace/seen-files.ts";
import { reviewCall, type Finding } from "../../guardrails/review-turn.ts";
import { callInTurn, type Turn } from "../../guardrails/turn.ts";
import type { ToolCall } from "../../tools/runtime/execute-call.ts";
import { prepareCall } from "../../tools/runtime/run-tool.ts";
import type { ExtraApprovals, Operation, Tool, ToolContext } from "../../tools/runtime/tool.ts";
import { backgroundAgents } from "../sub-agents/background.ts";
import { callableTools } from "../model-call/callable-tools.ts";
import { isChained } from "./chain.ts";
import { callsPerReply } from "../limits/limits.ts";
import { completionProblem } from "../limits/completion.ts";
import { editorBuffer } from "../view/editor-buffer.ts";
import { judgeCall, inspectCall } from "./judge-call.ts";
import { loopCall, userLanguage, userRequestText } from "../request.ts";
import { emitFindings } from "../limits/review.ts";
import { runIdOf, servicesOf, sessionIdOf, type SharedRunServices } from "../services.ts";
import { writtenArguments, type CallRuling, type RequestedCall, type Ruling } from "./tool-task.ts";
import type { ToolResult } from "../../tools/runtime/result.ts";

/**
 * Rules on a requested call. `turn` ends with the reply that requests it; absent for calls stored by an older version.
 * Changes nothing, so it may run twice (law 1).
 */
export async function decideCall(
  requested: RequestedCall,
  turn: Turn | undefined,
  config: LangGraphRunnableConfig,
  messages: readonly BaseMessage[] = [],
): Promise<Ruling> {
  const { call } = requested;
  if (requested.over_limit) {
    const limit = callsPerReply(loopCall(config));
    const reason = `Not run: one reply may hold at most ${limit} tool calls. Ask for this one again if it is still needed.`;
    return { kind: "refuse", code: "TOO_MANY_CALLS", errorType: "blocked", reason };
  }
  if (requested.cut === true) {
    const reason =
      "Not run: the reply reached the length limit in the middle of this call. Make the call again with less in it, for " +
      "example a long text in several parts.";
    return { kind: "refuse", code: "CUT_OFF", errorType: "invalid_format", reason };
  }
  const { tools, limits } = loopCall(config);
  const tool = callableTools(loopCall(config), requested.forced === true).find(
    (candidate) => candidate.name === call.name,
  );
  if (tool === undefined) return { kind: "unknown_tool" };
  const prepared = prepareCall(tool, writtenArguments(call.args));
  if (prepared.kind === "invalid") return { kind: "answer", result: prepared.result };
  if (turn !== undefined) {
    const problem = tool.inTurn?.completes === true ? completionProblem(turn, call.id, completing(tools)) : null;
    if (problem !== null) return { kind: "refuse", code: "NOT_COMPLETE", errorType: "blocked", reason: problem };
    const finding = reviewCall(turn, callInTurn(call.name, call.args, tools), limits);
    if (finding !== null) {
      emitFindings([finding], config);
      return { kind: "answer", result: blocked(finding) };
    }
  }
  if (tool.inTurn?.asks !== undefined) return { kind: "question", asked: tool.inTurn.asks(prepared.input) };
  const over = await writesOver(tool, prepared.input, messages, config);
  if (over.kind === "blind") return { kind: "answer", result: over.result };
  const first = await decideInput(tool, prepared.input, config);
  const batch =
    first.kind === "run" && turn !== undefined
      ? await askAboutBatch(tool, prepared.input, call.id, turn, config)
      : null;
  const ruling: CallRuling = batch ?? (first.kind === "run" ? { ...first, over: over.version } : first);
  // If the call needs an approval anyway, one question is enough.
  return ruling.kind === "run" && isChained(tool, turn, loopCall(config)) ? { kind: "chain" } : ruling;
}

/**
 * Whether the call may overwrite an existing file: the conversation has read it, or the user asks for it explicitly.
 */
async function writesOver(
  tool: Tool,
  input: Record<string, unknown>,
  messages: readonly BaseMessage[],
  config: LangGraphRunnableConfig,
): Promise<Overwriting> {
  const call = loopCall(config);
  const path = tool.overwrites?.(input).path;
  if (path === undefined || asksToOverwrite(userRequestText(call), path)) return { kind: "known" };
  return overwriting(tool, input, toolContext(config), [...call.history, ...messages]);
}

/** The question about too many moves, renames or deletions in a turn whose request did not ask for many. */
async function askAboutBatch(
  tool: Tool,
  input: Record<string, unknown>,
  callId: string,
  turn: Turn,
  config: LangGraphRunnableConfig,
): Promise<CallRuling | null> {
  const count = batchCount(turn, callId, loopCall(config).tools);
  if (count === null || asksForMany(userRequestText(loopCall(config)))) return null;
  const { hash } = await inspectRequestedCall(tool, input, config);
  const operation = { type: "BatchOperation", count } as const;
  return { kind: "ask", asked: { question: questionFor(operation, userLanguage(loopCall(config))), hash, operation } };
}

function completing(tools: readonly Tool[]): ReadonlySet<string> {
  return new Set(tools.filter(({ inTurn }) => inTurn?.completes === true).map(({ name }) => name));
}

/** The result of a blocked call. */
function blocked({ reason, suggestions }: Finding): ToolResult {
  const data = { blocked: true, reason, suggestions };
  return { success: false, code: "BLOCKED", message: reason, data, errorType: "blocked" };
}

/** Applies rules and remembered approvals to a call with valid arguments. */
export async function decideInput(
  tool: Tool,
  input: Record<string, unknown>,
  config: LangGraphRunnableConfig,
): Promise<CallRuling> {
  const { requiresConfirm } = loopCall(config);
  const { grants, toolkits } = servicesOf(config);
  const userRequest = userRequestText(loopCall(config));
  return judgeCall(tool, input, toolContext(config), { userRequest, requiresConfirm, grants, toolkits });
}

/** What a call would do now, and its approval hash. */
export async function inspectRequestedCall(
  tool: Tool,
  input: Record<string, unknown>,
  config: LangGraphRunnableConfig,
): Promise<{ operation: Operation; hash: string }> {
  return inspectCall(tool, input, toolContext(config));
}

/** The operator's additional approvals. */
export function extraApprovals({ criticalFiles = [], confirmTasks = false }: SharedRunServices): ExtraApprovals {
  return { criticalFiles, deletedTasks: confirmTasks };
}

/** A call with valid arguments, as the ledger knows it. */
export function ledgerCall(
  tool: Tool,
  input: Record<string, unknown>,
  ledgerId: string,
  config: LangGraphRunnableConfig,
): ToolCall {
  return {
    tool,
    input,
    context: toolContext(config, ledgerId),
    run_id: runIdOf(config),
    message_id: loopCall(config).agent?.messageId ?? ledgerId.slice(0, ledgerId.lastIndexOf("/")),
  };
}

/** The context of a tool in this run. `callId` is that of the running call; empty for a look ahead. */
export function toolContext(config: LangGraphRunnableConfig, callId = ""): ToolContext {
  const services = servicesOf(config);
  return {
    workspace: services.workspace,
    toolkitServices: services.toolkitServices,
    extraApprovals: extraApprovals(services),
    server: { background: backgroundAgents(config, callId) },
    sessionId: sessionIdOf(config),
    runId: runIdOf(config),
    conversation: {
      document: editorBuffer(config),
      history: {
        messages: withoutHidden(loopCall(config).history),
        // The ledger stores what finish() wrote: a ToolResult.
        result: async (id) =>
          ((await services.ledger.get(sessionIdOf(config), id))?.result as ToolResult | null | undefined) ?? undefined,
      },
    },
    callId,
    repeated: false,
    resultLength: loopCall(config).limits.tool_result_max_length,
    signal: config.signal ?? new AbortController().signal,
  };
}
