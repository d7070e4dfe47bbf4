import { HumanMessage, isAIMessage, type BaseMessage } from "@langchain/core/messages";
import { isGraphBubbleUp, type LangGraphRunnableConfig } from "@langchain/langgraph";
import { textOf } from "@millrace/engine/message-kinds";
import { isAppError } from "@millrace/engine/errors/errors";
import { modelPrice } from "@millrace/models/registry/model-limits";
import { agentSystemText } from "../../prompts/injector.ts";
import { agentId, type AgentTask } from "./delegate.ts";
import type { AgentReport } from "./delegation.ts";
import { parallelCallLimit } from "../limits/limits.ts";
import { emit, loopCall, userRequestText, type LoopCall, type LoopRequest } from "../request.ts";
import { profilesOf, promptsOf, servicesOf, sessionIdOf } from "../services.ts";
import type { EndReason, LoopUpdate } from "../state.ts";

/** The result of an agent's loop. */
export interface AgentOutcome {
  messages: BaseMessage[];
  end_reason: EndReason;
  iterations: number;
  total_tokens: number;
  total_cost: number;
  worked_ms: number;
}

/** Runs the agents' loop. */
export type RunAgentLoop = (request: LoopRequest, config: LangGraphRunnableConfig) => Promise<AgentOutcome>;

/**
 * The step of one agent: the same loop with its own prompt, tools, model and messages, checkpointed under this task. So
 * it resumes after a crash or an answer, and its questions reach the run's readers. Failures become its report; only a
 * stop and an interrupt are thrown.
 */
export function subAgent(runAgentLoop: RunAgentLoop) {
  return async (task: AgentTask, config: LangGraphRunnableConfig): Promise<LoopUpdate> => {
    const report = await servicesOf(config).locks.withSlot(
      `${sessionIdOf(config)}/agents`,
      parallelCallLimit(loopCall(config), profilesOf(config)),
      config.signal ?? new AbortController().signal,
      () => work(task, runAgentLoop, config),
    );
    const { reply: _, ...facts } = report;
    emit(config, { type: "subagent_completed", agent_id: agentId(task), agent_name: task.agent.name, ...facts });
    return { delegations: { [task.delegation]: { reports: { [task.index]: report } } } };
  };
}

async function work(
  task: AgentTask,
  runAgentLoop: RunAgentLoop,
  config: LangGraphRunnableConfig,
): Promise<AgentReport> {
  const request = requestFor(task, loopCall(config), config);
  try {
    const outcome = await runAgentLoop(request, {
      ...config,
      metadata: { ...config.metadata, sub_agent: task.agent.name },
    });
    return {
      success: outcome.end_reason === "answered" || outcome.end_reason === "completed",
      end_reason: outcome.end_reason,
      reply: textOf(outcome.messages.findLast((message) => isAIMessage(message))?.content ?? ""),
      iterations: outcome.iterations,
      tokens: outcome.total_tokens,
      cost: request.limits.price === undefined ? null : outcome.total_cost,
      duration_ms: outcome.worked_ms,
    };
  } catch (error) {
    if (isGraphBubbleUp(error) || config.signal?.aborted === true || !isAppError(error)) throw error;
    const reply = `It could not work: ${error.message}`;
    return { success: false, end_reason: "error", reply, iterations: 0, tokens: 0, cost: null, duration_ms: 0 };
  }
}

/** The agent's request: only tools the caller may use, and no agents. The price is that of the agent's model. */
function requestFor(task: AgentTask, caller: LoopCall, config: LangGraphRunnableConfig): LoopRequest {
  const { agent, max_tokens, max_cost, timeout_seconds } = task;
  const { price: ownPrice, ...limits } = caller.limits;
  const price = agent.model === caller.model ? ownPrice : modelPrice(agent.model, profilesOf(config));
  const prompts = caller.prompts ?? promptsOf(config);
  return {
    node: caller.node,
    prompts,
    agent: { name: agent.name, id: agentId(task), messageId: task.message_id },
    system: agentSystemText(agent.prompt, prompts),
    history: [new HumanMessage({ id: `${agentId(task)}/task`, content: agent.task })],
    userRequest: userRequestText(caller),
    summary: null,
    tools: caller.tools.filter(
      (tool) => tool.offered?.mayDelegate !== true && (agent.tools === null || agent.tools.includes(tool.name)),
    ),
    // An agent that names its tools sees all of them.
    hidden: agent.tools === null ? caller.hidden : undefined,
    limits: {
      ...limits,
      timeout_seconds,
      price,
      max_tokens,
      max_cost,
    },
    model: agent.model,
    requiresConfirm: caller.requiresConfirm,
    silent: false,
    ...(agent.include_rules === true ? { reading: { kinds: ["rules"], files: [] } } : {}),
    fallbackModel: caller.fallbackModel,
    onError: caller.onError,
    toolPolicy: caller.toolPolicy,
    temperature: caller.temperature,
    thinking: caller.thinking,
    toolProtocol: caller.toolProtocol,
  };
}
