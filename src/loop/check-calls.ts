import { Command, interrupt, Send, type LangGraphRunnableConfig } from "@langchain/langgraph";
import { isHumanMessage } from "@langchain/core/messages";
import { textOf } from "../context/tokens.ts";
import { guardrails } from "../guardrails/index.ts";
import type { Verdict } from "../guardrails/guardrail.ts";
import { prepareCall } from "../tools/run-tool.ts";
import type { Tool, ToolContext } from "../tools/tool.ts";
import { confirmationRequest, readDecision } from "./approval.ts";
import { writtenArguments, type RequestedCall, type ToolTask } from "./tool-task.ts";
import { emit, loopCall } from "./request.ts";
import { servicesOf, sessionIdOf } from "./services.ts";

/**
 * Decides about one requested call, and does nothing (law 1): on resume it starts again from its first line. The only
 * step that interrupts, once per call. Every call, refused or not, goes on to exactly one `call_tool` (law 6).
 */
export async function checkCalls(requested: RequestedCall, config: LangGraphRunnableConfig): Promise<Command> {
  const task = await decide(requested, config);
  return new Command({
    goto: new Send("call_tool", task),
    ...(task.waited_ms > 0 ? { update: { paused_ms: task.waited_ms } } : {}),
  });
}

async function decide(requested: RequestedCall, config: LangGraphRunnableConfig): Promise<ToolTask> {
  const { call } = requested;
  const go = (outcome: ToolTask["outcome"], waited = 0): ToolTask => ({ ...requested, outcome, waited_ms: waited });
  if (requested.over_limit) {
    const limit = loopCall(config).limits.max_tool_calls_per_turn;
    const reason = `Not run: one reply may hold at most ${limit} tool calls. Ask for this one again if it is still needed.`;
    return go({ kind: "refuse", code: "TOO_MANY_CALLS", errorType: "blocked", reason });
  }
  const tool = loopCall(config).tools.find((candidate) => candidate.name === call.name);
  if (tool === undefined) return go({ kind: "unknown_tool" });
  const prepared = prepareCall(tool, writtenArguments(call.args));
  if (prepared.kind === "invalid") return go({ kind: "answer", result: prepared.result });

  const verdict = await judge(tool, prepared.input, config);
  switch (verdict.kind) {
    case "allow":
      return go({ kind: "run" });
    case "deny":
      return go({ kind: "refuse", code: "BLOCKED", errorType: "blocked", reason: verdict.reason });
    case "ask":
      return go(confirmed(tool, prepared.input, requested, verdict.question, config), Date.now() - requested.asked_at);
  }
}

async function judge(tool: Tool, input: Record<string, unknown>, config: LangGraphRunnableConfig): Promise<Verdict> {
  const operation = await tool.operation(input, toolContext(config, false));
  const userRequest = textOf(loopCall(config).history.findLast(isHumanMessage)?.content ?? "");
  const { requiresConfirm } = loopCall(config);
  for (const rule of Object.values(guardrails)) {
    const verdict = rule({ tool, input, operation, userRequest, requiresConfirm });
    if (verdict.kind !== "allow") return verdict;
  }
  return { kind: "allow" };
}

/** Asks, and asks again until the answer can be used. Each further question is a new interrupt of the same task. */
function confirmed(
  tool: Tool,
  input: Record<string, unknown>,
  requested: RequestedCall,
  question: string,
  config: LangGraphRunnableConfig,
): ToolTask["outcome"] {
  let problem: string | undefined;
  emit(config, {
    type: "tool_status",
    tool_call_id: requested.call.id,
    tool_name: tool.name,
    status: "awaiting_confirmation",
  });
  for (;;) {
    const call = { id: requested.call.id, name: tool.name, args: input };
    const decision = readDecision(interrupt(confirmationRequest(call, question, problem)));
    switch (decision.kind) {
      case "approve":
        return { kind: "run" };
      case "reject": {
        const reason = decision.message === undefined ? "" : ` They said: ${decision.message}`;
        return {
          kind: "refuse",
          code: "DENIED",
          errorType: "denied",
          reason: `The user refused this call.${reason} Acknowledge it and do not repeat the call.`,
        };
      }
      case "edit": {
        const edited = prepareCall(tool, decision.args);
        if (edited.kind === "ready") return { kind: "run", edited: edited.input };
        problem = edited.result.message;
        break;
      }
      case "unclear":
        problem = decision.problem;
        break;
    }
  }
}

/** What a tool may touch in this run. */
export function toolContext(config: LangGraphRunnableConfig, repeated: boolean): ToolContext {
  const services = servicesOf(config);
  return {
    workspace: services.workspace,
    tasks: services.tasks,
    sessionId: sessionIdOf(config),
    repeated,
    signal: config.signal ?? new AbortController().signal,
  };
}
