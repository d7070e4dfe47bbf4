import type { BaseMessage } from "@langchain/core/messages";
import { Command, Send, type LangGraphRunnableConfig } from "@langchain/langgraph";
import { resultMessage } from "../call-tool.ts";
import type { AgentReport, AssignedAgent, Delegation, DelegationProgress } from "./delegation.ts";
import { emit, loopCall } from "../request.ts";
import { delegationResult } from "./delegation-result.ts";
import { restart, elapsedMs } from "../limits/limits.ts";
import type { LoopState, LoopUpdate } from "../state.ts";

/** Input of a `sub_agent` task. */
export interface AgentTask {
  /** The delegation's id and the agent's index in it. */
  delegation: string;
  index: number;
  agent: AssignedAgent;
  message_id: string;
  timeout_seconds: number;
  /** Its share of the caller's remaining budgets; absent: no limit. */
  max_tokens?: number;
  max_cost?: number;
}

/**
 * Starts agents, each in its own task (law 2), and collects their reports; a finished delegation becomes the one result
 * of its call (law 6). On each visit all started agents have reported. The caller's clock pauses meanwhile, since each
 * agent has its own; tokens and cost count for the caller.
 */
export async function delegate(state: LoopState, config: LangGraphRunnableConfig): Promise<Command> {
  const delegations: Record<string, DelegationProgress | null> = {};
  const { clock } = loopCall(config);
  const now = performance.now();
  const isBack = Object.values(state.delegations).some(({ sent }) => sent > 0);
  const worked_ms = isBack ? restart(clock, state, now) : elapsedMs(clock, state, now);
  const messages: BaseMessage[] = [];
  const done: Delegation[] = [];
  const due: Omit<AgentTask, "max_tokens" | "max_cost">[] = [];
  for (const [id, work] of Object.entries(state.delegations)) {
    const next = dueOf(id, work);
    if (next.length > 0) {
      for (const task of next) emitStart(task, work.call.id, config);
      due.push(...next);
      delegations[id] = { sent: work.sent + next.length };
      continue;
    }
    delegations[id] = null;
    done.push(work);
    const result = delegationResult(work, loopCall(config));
    const message = resultMessage(work.call, result, config);
    message.additional_kwargs["subagents"] = result.data;
    messages.push(message);
  }
  const reports = done.flatMap(reportsOf);
  const update: LoopUpdate = {
    worked_ms,
    ...(Object.keys(delegations).length === 0 ? {} : { delegations }),
    ...(messages.length === 0 ? {} : { messages, ...spentBy(reports, state) }),
  };
  // The caller's totals include agents only when their call ends.
  const spent = { ...state, ...spentBy(Object.values(state.delegations).flatMap(reportsOf), state) };
  const goto = due.length === 0 ? "assemble" : due.map((task) => send(task, due.length, spent, config));
  return new Command({ update, goto });
}

/** The next agents: all in parallel mode, else one. */
function dueOf(id: string, work: Delegation): AgentTask[] {
  const count = work.mode === "parallel" ? work.agents.length : 1;
  return work.agents.slice(work.sent, work.sent + count).map((agent, at) => ({
    delegation: id,
    index: work.sent + at,
    agent,
    message_id: work.message_id,
    timeout_seconds: work.timeout_seconds,
  }));
}

function emitStart(task: AgentTask, toolCallId: string, config: LangGraphRunnableConfig): void {
  emit(config, {
    type: "subagent_started",
    agent_id: agentId(task),
    agent_name: task.agent.name,
    task: task.agent.task.slice(0, 200),
    tool_call_id: toolCallId,
  });
}

/** Agents that start together share the remaining budget, so they cannot spend it several times. */
function send(task: AgentTask, sharers: number, spent: Spent, config: LangGraphRunnableConfig): Send {
  const { max_tokens, max_cost } = loopCall(config).limits;
  const left = (budget: number, used: number): number => Math.max(0, budget - used) / sharers;
  const budget = {
    ...(max_tokens === undefined ? {} : { max_tokens: Math.floor(left(max_tokens, spent.total_tokens_used)) }),
    ...(max_cost === undefined ? {} : { max_cost: left(max_cost, spent.total_cost) }),
  };
  return new Send("sub_agent", { ...task, ...budget } satisfies AgentTask);
}

/** An agent's id: stable after a crash, unique in a session. */
export function agentId({ delegation, index }: Pick<AgentTask, "delegation" | "index">): string {
  return `${delegation}/${index}`;
}

type Spent = Pick<LoopState, "total_tokens_used" | "total_cost">;

function reportsOf({ reports }: Delegation): AgentReport[] {
  return Object.values(reports);
}

function spentBy(reports: AgentReport[], state: Spent): Partial<Spent> {
  const tokens = reports.reduce((sum, report) => sum + report.tokens, 0);
  const cost = reports.reduce((sum, report) => sum + (report.cost ?? 0), 0);
  return {
    ...(tokens === 0 ? {} : { total_tokens_used: state.total_tokens_used + tokens }),
    ...(cost === 0 ? {} : { total_cost: state.total_cost + cost }),
  };
}
