import { failure } from "../tools/result.ts";
import { prepareCall } from "../tools/run-tool.ts";
import type { ToolResult } from "../tools/tool.ts";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import type { Delegation } from "./delegation.ts";
import { loopCall } from "./request.ts";
import { servicesOf } from "./services.ts";
import { writtenArguments, type ToolTask } from "./tool-task.ts";

/** What a call that hands work over begins with: the work, or the result that says why there is none. */
export type HandedOver = { kind: "work"; work: Delegation } | { kind: "result"; result: ToolResult };

/**
 * The work that an allowed call hands to agents (AGENT-04); `undefined` for any other call. The agents are taken as they
 * are now.
 */
export function handOver(task: ToolTask, config: LangGraphRunnableConfig): HandedOver | undefined {
  const { call, outcome } = task;
  const caller = loopCall(config);
  const tool = caller.tools.find(({ name }) => name === call.name);
  if (outcome.kind !== "run" || tool?.delegates === undefined) return undefined;
  const prepared = prepareCall(tool, outcome.edited ?? writtenArguments(call.args));
  if (prepared.kind === "invalid") return { kind: "result", result: prepared.result };
  const { mode, subagents, timeout_seconds } = tool.delegates(prepared.input);
  const known = new Map((servicesOf(config).agents?.list() ?? []).map((agent) => [agent.name, agent]));
  const unknown = [...new Set(subagents.map(({ name }) => name).filter((name) => !known.has(name)))];
  if (unknown.length > 0) {
    const names = known.size === 0 ? "there are none" : `there are ${[...known.keys()].join(", ")}`;
    const problem = `There is no agent named ${unknown.join(", ")}; ${names}. Nobody has begun to work.`;
    const result = failure("invalid_parameter", problem, "Use the names of the list, or do the work yourself.");
    return { kind: "result", result };
  }
  const agents = subagents.flatMap(({ name, task: work }) => {
    const agent = known.get(name);
    if (agent === undefined) return [];
    const { prompt, tools } = agent;
    return [
      { name, task: work, prompt, tools: tools === null ? null : [...tools], model: agent.model ?? caller.model },
    ];
  });
  const message_id = task.ledger_id.slice(0, task.ledger_id.lastIndexOf("/"));
  const work: Delegation = {
    call: { id: call.id, name: call.name },
    message_id,
    iteration: task.iteration,
    mode,
    timeout_seconds,
    began_at: Date.now(),
    agents,
    sent: 0,
    reports: {},
  };
  return { kind: "work", work };
}
