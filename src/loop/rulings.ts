import { isHumanMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { textOf } from "../context/tokens.ts";
import { isAppError } from "../errors.ts";
import { grantCovers, mayRemember } from "../guardrails/grants.ts";
import type { Verdict } from "../guardrails/guardrail.ts";
import { guardrails } from "../guardrails/index.ts";
import { locate } from "../tools/files/workspace-path.ts";
import { prepareCall } from "../tools/run-tool.ts";
import type { Operation, Tool, ToolContext } from "../tools/tool.ts";
import { approvalHash } from "./approval.ts";
import { loopCall } from "./request.ts";
import { servicesOf, sessionIdOf } from "./services.ts";
import { writtenArguments, type RequestedCall, type Ruling } from "./tool-task.ts";

/** What the rules say of a requested call. It looks and changes nothing, so it may run twice (law 1). */
export async function ruleOn(requested: RequestedCall, config: LangGraphRunnableConfig): Promise<Ruling> {
  const { call } = requested;
  if (requested.over_limit) {
    const limit = loopCall(config).limits.max_tool_calls_per_turn;
    const reason = `Not run: one reply may hold at most ${limit} tool calls. Ask for this one again if it is still needed.`;
    return { kind: "refuse", code: "TOO_MANY_CALLS", errorType: "blocked", reason };
  }
  const tool = loopCall(config).tools.find((candidate) => candidate.name === call.name);
  if (tool === undefined) return { kind: "unknown_tool" };
  const prepared = prepareCall(tool, writtenArguments(call.args));
  return prepared.kind === "invalid"
    ? { kind: "answer", result: prepared.result }
    : ruleOnInput(tool, prepared.input, config);
}

/** What the rules, and the yeses that were remembered, say of a call with valid arguments. */
export async function ruleOnInput(
  tool: Tool,
  input: Record<string, unknown>,
  config: LangGraphRunnableConfig,
): Promise<Ruling> {
  const { operation, hash } = await lookAt(tool, input, config);
  const verdict = applyRules(tool, input, operation, config);
  switch (verdict.kind) {
    case "allow":
      return { kind: "run" };
    case "deny":
      return { kind: "refuse", code: "BLOCKED", errorType: "blocked", reason: verdict.reason };
    case "ask":
      return (await isGranted(tool, operation, config))
        ? { kind: "run", approved: hash }
        : { kind: "ask", asked: { question: verdict.question, hash, operation } };
  }
}

/** What a call would do now, and the hash of exactly that. */
export async function lookAt(
  tool: Tool,
  input: Record<string, unknown>,
  config: LangGraphRunnableConfig,
): Promise<{ operation: Operation; hash: string }> {
  const context = toolContext(config, false);
  const operation = await tool.operation(input, context);
  const { workspace } = context;
  return { operation, hash: approvalHash({ tool: tool.name, args: input, workspace, operation }) };
}

function applyRules(
  tool: Tool,
  input: Record<string, unknown>,
  operation: Operation,
  config: LangGraphRunnableConfig,
): Verdict {
  const userRequest = textOf(loopCall(config).history.findLast(isHumanMessage)?.content ?? "");
  const { requiresConfirm } = loopCall(config);
  for (const rule of Object.values(guardrails)) {
    const verdict = rule({ tool, input, operation, userRequest, requiresConfirm });
    if (verdict.kind !== "allow") return verdict;
  }
  return { kind: "allow" };
}

async function isGranted(tool: Tool, operation: Operation, config: LangGraphRunnableConfig): Promise<boolean> {
  if (!mayRemember(operation) || !("path" in operation)) return false;
  const { grants, workspace } = servicesOf(config);
  const known = (await grants?.(sessionIdOf(config)))?.filter((grant) => grant.tool === tool.name) ?? [];
  if (known.length === 0) return false;
  const paths = await placesOf(workspace, operation.path);
  return known.some((grant) => grantCovers(grant, { tool: tool.name, paths }));
}

/** A path as written and as it lies in the workspace once links are followed; none when it is refused. */
async function placesOf(workspace: string, path: string): Promise<string[]> {
  try {
    const place = await locate(workspace, path, "keep");
    return [place.path, place.real.slice(workspace.length).replaceAll("\\", "/").replace(/^\/+/u, "")];
  } catch (error) {
    if (isAppError(error)) return [];
    throw error;
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
