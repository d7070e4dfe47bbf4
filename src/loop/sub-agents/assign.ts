import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import type { Assignment } from "../../agents/delegation.ts";
import { AppError } from "@millrace/engine/errors/errors";
import type { AssignedAgent } from "./delegation.ts";
import { loopCall } from "../request.ts";
import { servicesOf } from "../services.ts";

/** The current definitions of the agents in a call. Throws `invalid_parameter` for an unknown name. */
export function assign(subagents: readonly Assignment[], config: LangGraphRunnableConfig): AssignedAgent[] {
  const caller = loopCall(config);
  const known = new Map((servicesOf(config).agents?.list() ?? []).map((agent) => [agent.name, agent]));
  const unknown = [...new Set(subagents.map(({ name }) => name).filter((name) => !known.has(name)))];
  if (unknown.length > 0) {
    const names = known.size === 0 ? "there are none" : `there are ${[...known.keys()].join(", ")}`;
    const problem = `There is no agent named ${unknown.join(", ")}; ${names}. Nobody has begun to work.`;
    throw new AppError("invalid_parameter", problem, {
      suggestion: "Use the names of the list, or do the work yourself.",
    });
  }
  return subagents.flatMap(({ name, task }) => {
    const agent = known.get(name);
    if (agent === undefined) return [];
    const { prompt, tools, includeRules: include_rules } = agent;
    const model = agent.model ?? caller.model;
    return [{ name, task, prompt, tools: tools === null ? null : [...tools], model, include_rules }];
  });
}
