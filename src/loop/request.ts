import { isHumanMessage, type BaseMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { visibleHistory } from "../context/compression/shorter-history.ts";
import { textOf } from "@millrace/engine/message-kinds";
import { AppError } from "@millrace/engine/errors/errors";
import { type Language, languageOfWords } from "@millrace/engine/language";
import type { CustomEvent } from "../events.ts";
import type { CompletionCheck } from "../guardrails/completion.ts";
import type { Finding } from "../guardrails/review-turn.ts";
import type { SystemPart } from "../prompts/injector.ts";
import type { Prompts } from "../prompts/prompts.ts";
import type { ConversationSummary, LoopLimits, LoopPhase, ResultMode, RunContext, ToolPolicy } from "../state.ts";
import type { Tool } from "../tools/runtime/tool.ts";
import type { ContextShares, EditorDocument } from "../user-context.ts";
import type { SearchResult } from "@millrace/models/messages/search-result";
import type { CallDocuments, ReadingList, PrunedView } from "./state.ts";
import type { TurnState } from "./limits/orchestration.ts";
import type { LoopClock } from "./limits/limits.ts";
import { addMessages, type LoopRecord } from "./progress.ts";
import type { StartedCalls } from "./tool-call/tool-task.ts";
import { servicesOf, taskPathOf, emitEvent } from "./services.ts";

/**
 * A node's request to the loop. It is not in the loop's state: after a crash the node runs again and passes the same
 * request, so the history is not stored twice.
 */
export interface LoopRequest {
  /** The calling node, for events. */
  node: string;
  /** The system text, unchanged in all iterations. */
  system: string;
  /** The parts of the system text; absent: it is one part. */
  parts?: readonly SystemPart[];
  /** Documentation between the system text and the conversation. */
  documentation?: BaseMessage[];
  /** Which documentation to load when the loop begins; absent: none. */
  reading?: ReadingList;
  /** Prompts for the loop's notes; default the built-in ones. */
  prompts?: Prompts;
  /** Web pages found for this turn; kept on its reply. */
  found?: readonly SearchResult[];
  /** The document in the client's editor; editable if its text came along. */
  document?: EditorDocument | undefined;
  /** Whether the model's vendor searches the web, if it can. */
  providerSearch?: boolean;
  history: BaseMessage[];
  summary: ConversationSummary | null;
  /** An instruction in addition to the user's last message; sent to the model, never stored. */
  instruction?: string | undefined;
  /** Callable tools; empty for a plain answer. */
  tools: Tool[];
  /** Tools the model may call but does not see. */
  hidden?: ReadonlySet<string> | undefined;
  /** The tool to call first; afterwards only other tools are callable, each with the user's consent. */
  forcedTool?: string | undefined;
  limits: LoopLimits;
  /** Default `auto`. */
  toolPolicy?: ToolPolicy | undefined;
  /** The run's choice for tool results; default each tool's own. */
  resultMode?: ResultMode | undefined;
  model: string;
  /** The run's shares of the window, if set, and whether a document's conversation is cut early. */
  room?: { shares: ContextShares | undefined; cutsEarly: boolean };
  /** The model to use if the main one is unavailable. */
  fallbackModel?: string | undefined;
  /** Whether the user decides about a final model failure; default `fail`. */
  onError?: "ask" | "fail" | undefined;
  temperature?: number | undefined;
  /** Turns an optional thinking mode on or off. */
  thinking?: boolean | undefined;
  /** Maximum tokens per answer. */
  maxTokens?: number | undefined;
  /** The run's tool protocol; default by the model's profile. */
  toolProtocol?: NonNullable<RunContext["tool_protocol"]> | undefined;
  /** The session waits for a confirmation; every tool call is refused. */
  requiresConfirm: boolean;
  /** The turn's state at the loop's start; default `plan`. */
  turnState?: TurnState;
  /** Checks whether a reply leaves work undone; without it every complete reply ends the turn. */
  completion?: CompletionCheck | undefined;
  /** Plan mode: nothing may be changed. */
  isPlanning?: boolean;
  /** The answer is for the program and is not streamed. */
  silent: boolean;
  /** The user's request, if the last human message is not theirs; only the user can consent. */
  userRequest?: string | undefined;
  /** Set in the loop of a sub-agent. */
  agent?: AgentPlace;
}

/** The running sub-agent and its call. */
export interface AgentPlace {
  name: string;
  /** Stable after a crash and unique in a session: the call's ledger id and the agent's index. */
  id: string;
  /** The session's message that requested the work; changes by the agent are recorded under it. */
  messageId: string;
}

/** News for a model call about work that ended in the background. */
export interface BackgroundNews {
  text: string;
  /** Ids of the agents' sessions and of commands. */
  fresh: string[];
}

/** The request plus state shared in memory by this call's steps; all of it can be rebuilt from the loop's state. */
export interface LoopCall extends LoopRequest {
  /** The history after compaction and cuts decided for the whole call (law 5). */
  visible: BaseMessage[];
  /** Older messages left out because of `max_history_rounds`. */
  earlier: BaseMessage[];
  /** Available documents; each iteration chooses among them. */
  documents: CallDocuments | undefined;
  /** The phase last emitted. */
  phase: LoopPhase;
  turnState: TurnState;
  record: LoopRecord | undefined;
  clock: LoopClock;
  /** Cached findings of the loop rules up to message `last`. */
  review: { last: BaseMessage | undefined; count: number; findings: Finding[] } | undefined;
  /** Cached result of pruning for these messages. */
  shown: { last: BaseMessage | undefined; count: number; maxTokens: number; shown: PrunedView } | undefined;
  /** Keys of events that are emitted only once. */
  emitted: Set<string>;
  /** Background news for the current model call. */
  news: BackgroundNews | undefined;
  /** Documentation that became relevant with the last calls. */
  rules: string | null;
  /** Calls of the reply that run before it is over. */
  early: StartedCalls | undefined;
  /** Id of the newest model call. It binds its requests, its streamed messages and its reply. */
  modelCallId: string;
}

const callKey = "__millrace_loop";

/** Adds the request to the configuration of the loop's steps. */
export function withLoopCall(
  config: LangGraphRunnableConfig,
  request: LoopRequest,
  documents?: CallDocuments,
): LangGraphRunnableConfig {
  // A sub-agent's messages are not the session's.
  const isInside = request.silent || request.agent !== undefined;
  const record = servicesOf(config).progress?.begin(taskPathOf(config), isInside);
  const call: LoopCall = {
    ...request,
    ...visibleHistory(request.history, request.summary, request.limits.max_history_rounds),
    documents,
    turnState: request.turnState ?? "plan",
    phase: "idle",
    record,
    clock: { since: performance.now(), before: undefined },
    review: undefined,
    shown: undefined,
    emitted: new Set(),
    news: undefined,
    rules: null,
    early: undefined,
    modelCallId: "",
  };
  return { ...config, configurable: { ...config.configurable, [callKey]: call } };
}

/** The request of the running loop call. */
export function loopCall(config: LangGraphRunnableConfig): LoopCall {
  // Only withLoopCall sets this key.
  const call = config.configurable?.[callKey] as LoopCall | undefined;
  if (call === undefined) {
    throw new AppError("invalid_state", "The loop was started without a request: call it through runLoop.");
  }
  return call;
}

/** The user's request this call works on. */
export function userRequestText({ userRequest, history }: LoopRequest): string {
  return userRequest ?? textOf(history.findLast((message) => isHumanMessage(message))?.content ?? "");
}

/** The language for texts to the user: that of their request. */
export function userLanguage(call: LoopRequest): Language {
  return languageOfWords(userRequestText(call));
}

/** Records messages at once, so that a stop before the next checkpoint does not lose them. */
export function recordMessages(config: LangGraphRunnableConfig, messages: readonly BaseMessage[]): void {
  const { record } = loopCall(config);
  if (record !== undefined) addMessages(record, messages);
}

/** Emits an event on the run's `custom` stream; those of a sub-agent carry its name and id and are not the session's. */
export function emit(config: LangGraphRunnableConfig, event: CustomEvent): void {
  // Only withLoopCall sets this key; nodes outside the loop have none.
  const agent = (config.configurable?.[callKey] as LoopCall | undefined)?.agent;
  if (agent === undefined) emitEvent(config, event);
  else config.writer?.({ ...event, agent: { name: agent.name, id: agent.id } });
}
