import { isAppError } from "@millrace/engine/errors/errors";
import { failure, type ToolResult } from "../../tools/runtime/result.ts";
import { prepareCall } from "../../tools/runtime/run-tool.ts";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { assign } from "./assign.ts";
import type { AssignedAgent, Delegation } from "./delegation.ts";
import { loopCall } from "../request.ts";
import { writtenArguments, type ToolTask } from "../tool-call/tool-task.ts";

/** The work to delegate, or the error result. */
export type DelegationPlan = { kind: "work"; work: Delegation } | { kind: "result"; result: ToolResult };

/**
 * The work an allowed call delegates to agents, with their current definitions; `undefined` for other calls and for
 * background work.
 */
export function planDelegation(task: ToolTask, config: LangGraphRunnableConfig): DelegationPlan | undefined {
  const { call, outcome } = task;
  const caller = loopCall(config);
  const tool = caller.tools.find(({ name }) => name === call.name);
  if (outcome.kind !== "run" || tool?.inTurn?.delegates === undefined) return undefined;
  const prepared = prepareCall(tool, outcome.edited ?? writtenArguments(call.args));
  if (prepared.kind === "invalid") return { kind: "result", result: prepared.result };
  const delegation = tool.inTurn.delegates(prepared.input);
  if (delegation === undefined) return undefined;
  const { mode, subagents, timeout_seconds } = delegation;
  let agents: AssignedAgent[];
  try {
    agents = assign(subagents, config);
  } catch (error) {
    if (!isAppError(error)) throw error;
    return { kind: "result", result: failure(error.code, error.message, error.suggestion) };
  }
  const message_id = task.ledger_id.slice(0, task.ledger_id.lastIndexOf("/"));
  const work: Delegation = {
    call: { id: call.id, name: call.name },
    message_id,
    iteration: task.iteration,
    mode,
    timeout_seconds,
    agents,
    sent: 0,
    reports: {},
  };
  return { kind: "work", work };
}
