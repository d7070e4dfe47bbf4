import { isAIMessage, type AIMessage, type BaseMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { backgroundText, type BackgroundAgents, type SentAgent } from "../../agents/background.ts";
import type { Assignment } from "../../agents/delegation.ts";
import { overGrowingList } from "../../context/compression/growing-list.ts";
import { isAppError } from "@millrace/engine/errors/errors";
import { backgroundNote } from "../../prompts/templates/background-summary.ts";
import type { RunContext } from "../../state.ts";
import { runNamedSubagents } from "../../tools/agents/run-named-subagents.ts";
import type { FinishedWork } from "../../toolkits/toolkit.ts";
import { assign } from "./assign.ts";
import type { AssignedAgent } from "./delegation.ts";
import { loopCall, userRequestText, type BackgroundNews, type LoopCall } from "../request.ts";
import { servicesOf, sessionIdOf } from "../services.ts";
import type { LoopState } from "../state.ts";

/** Items per note, and characters of the note. */
const maxItems = 64;
const noteLength = 6000;

/** Field of a reply with the ids of the background jobs its model has seen. */
const reportedKey = "background_told";

/** The background agents of a call; `undefined` without a background service, and for sub-agents. */
export function backgroundAgents(config: LangGraphRunnableConfig, callId: string): BackgroundAgents | undefined {
  const { background } = servicesOf(config);
  const caller = loopCall(config);
  if (background === undefined || caller.agent !== undefined) return undefined;
  const signal = config.signal ?? new AbortController().signal;
  const sendOne = async (agent: AssignedAgent, place: number, timeoutSeconds: number): Promise<SentAgent> => {
    const { name, task } = agent;
    try {
      const context = contextFor(agent, caller, timeoutSeconds);
      return {
        kind: "begun",
        name,
        ...(await background.send({ call_id: callId, place, name, task, context }, signal)),
      };
    } catch (error) {
      // Others may have started, so this failure is reported beside their ids.
      if (signal.aborted || !isAppError(error)) throw error;
      return { kind: "refused", name, problem: error.message };
    }
  };
  return {
    list: () => background.list(),
    watch: background.watch,
    stop: background.stop,
    clear: background.clear,
    async send(subagents: readonly Assignment[], timeoutSeconds: number) {
      const sent: SentAgent[] = [];
      for (const [place, agent] of assign(subagents, config).entries()) {
        sent.push(await sendOne(agent, place, timeoutSeconds));
      }
      return sent;
    },
  };
}

/**
 * The context of the agent's run: never more than its caller's, and only the user's own request counts as consent. It
 * has its own limits, since its usage is unknown while the caller's turn is counted.
 */
function contextFor(agent: AssignedAgent, caller: LoopCall, timeoutSeconds: number): RunContext {
  const { price, ...limits } = caller.limits;
  const tools = caller.tools.filter(
    (tool) => tool.offered?.mayDelegate !== true && (agent.tools === null || agent.tools.includes(tool.name)),
  );
  return {
    mode: "free_work",
    clarify: false,
    agent: {
      name: agent.name,
      prompt: agent.prompt,
      user_request: userRequestText(caller),
      ...(agent.include_rules === true ? { include_rules: true } : {}),
    },
    model: agent.model,
    tools: tools.map(({ name }) => name),
    limits: {
      ...limits,
      timeout_seconds: timeoutSeconds,
      price: agent.model === caller.model ? price : undefined,
    },
    fallback_model: caller.fallbackModel,
    on_error: caller.onError,
    tool_policy: caller.toolPolicy,
    temperature: caller.temperature,
    thinking: caller.thinking,
    tool_protocol: caller.toolProtocol,
  };
}

/**
 * News for the next model call about ended background work of agents and toolkits. Each is reported once: the reply
 * keeps its id. Agents are listed only if the session started some.
 */
export async function backgroundNews(
  state: Pick<LoopState, "messages">,
  call: LoopCall,
  config: LangGraphRunnableConfig,
): Promise<BackgroundNews | undefined> {
  const { background, toolkits, toolkitServices } = servicesOf(config);
  if (call.silent || call.agent !== undefined) return undefined;
  const hasAgents = background !== undefined && (hasSent(call.history) || hasSent(state.messages));
  const sessionId = sessionIdOf(config);
  const ended = toolkits.flatMap((toolkit) => toolkit.finishedWork?.(sessionId, toolkitServices) ?? []);
  if (!hasAgents && ended.length === 0) return undefined;
  const before = new Set([...reportedIn(call.history), ...reportedIn(state.messages)]);
  const agents = hasAgents ? (await background.list(before)).filter(({ status }) => status === "finished") : [];
  const finished: FinishedWork[] = [
    ...agents.map((agent) => ({ id: agent.session_id, text: (maxLength: number) => backgroundText(agent, maxLength) })),
    ...ended.filter(({ id }) => !before.has(id)),
  ].slice(0, maxItems);
  if (finished.length === 0) return undefined;
  const share = Math.max(100, Math.floor(noteLength / finished.length) - 100);
  return {
    text: backgroundNote({ summary: finished.map(({ text }) => text(share)).join("\n") }, call.prompts),
    fresh: finished.map(({ id }) => id),
  };
}

/** Stores the reported ids on the reply. */
export function withNewsIds(message: AIMessage, news: BackgroundNews | undefined): void {
  if (news !== undefined) message.additional_kwargs[reportedKey] = news.fresh;
}

const hasSent = overGrowingList(false, (found, message) => found || startsAgents(message));

function startsAgents(message: BaseMessage): boolean {
  return isAIMessage(message) && message.tool_calls?.some(({ name }) => name === runNamedSubagents.name) === true;
}

function reportedIn(messages: readonly BaseMessage[]): ReadonlySet<unknown> {
  return new Set(
    messages.flatMap((message): unknown[] => {
      const reported = message.additional_kwargs[reportedKey];
      return Array.isArray(reported) ? reported : [];
    }),
  );
}
