import { isHumanMessage, type BaseMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { visibleHistory } from "../context/compression/shorter-history.ts";
import { textOf } from "@millrace/engine/message-kinds";
import { AppError } from "@millrace/engine/errors/errors";
import { type Language, languageOfWords } from "@millrace/engine/language";
import type { CustomEvent } from "../events.ts";
import type { CompletionCheck } from "../guardrails/completion.ts";
import type { Finding } from "../guardrails/manager.ts";
import type { SystemPart } from "../prompts/injector.ts";
import type { Prompts } from "../prompts/prompts.ts";
import type { ConversationSummary, LoopLimits, LoopPhase, ResultMode, RunContext, ToolPolicy } from "../state.ts";
import type { Tool } from "../tools/runtime/tool.ts";
import type { ContextShares, EditorDocument } from "../user-context.ts";
import type { SearchResult } from "@millrace/models/messages/search-result";
import type { CallDocuments, ReadingList, Shown } from "./state.ts";
import type { TurnState } from "./limits/orchestration.ts";
import type { LoopClock } from "./limits/limits.ts";
import { addMessages, type LoopRecord } from "./progress.ts";
import { servicesOf, taskPathOf, tellEvent } from "./services.ts";

/**
 * What a node hands to the loop. It travels beside the loop's state, not in it: after a crash the node runs again from
 * its first line and hands over the same, so nothing of the history is stored a second time.
 */
export interface LoopRequest {
  /** The node that calls, for events. */
  node: string;
  /** The system text, the same through all iterations. */
  system: string;
  /** The pieces that it was put together from, for whoever looks at it; absent: it is one piece. */
  parts?: readonly SystemPart[];
  /** What the model is given to read before the conversation; comes right after the system text. */
  documentation?: BaseMessage[];
  /** What of the user's documentation that is, to be looked up when the loop begins; absent: none. */
  reading?: ReadingList;
  /** Where the notes of the loop come from; absent: the built-in texts. */
  prompts?: Prompts;
  /** Pages that were found on the web for the turn; kept on its reply. */
  found?: readonly SearchResult[];
  /** What the client's editor shows; with its text, the model can change it. */
  document?: EditorDocument;
  /** The model's vendor searches the web by itself, where it can. */
  providerSearch?: boolean;
  history: BaseMessage[];
  summary: ConversationSummary | null;
  /** What to do now, where it is not simply the last message of the history. Seen by the model, never stored. */
  instruction?: string;
  /** What the model may call; empty for a plain answer. */
  tools: Tool[];
  /** Names of those that it is not told of, though it may call them. */
  hidden?: ReadonlySet<string>;
  /** The tool that must be called first; once it was, there are only the others, each by the user's word. */
  forcedTool?: string;
  limits: LoopLimits;
  /** How far the model may go with tools on its own; default `auto`. */
  toolPolicy?: ToolPolicy;
  /** What becomes of tool results, where the run says so; else each tool knows. */
  resultMode?: ResultMode;
  model: string;
  /** How what a model may read is shared, where the run says so, and whether a document is cut early. */
  room?: { shares: ContextShares | undefined; cutsEarly: boolean };
  /** The model that is asked where the other one cannot be. */
  fallbackModel?: string;
  /** Whether a person decides about a model call that fails for good; else it fails. */
  onError?: "ask" | "fail";
  temperature?: number;
  /** Whether a model thinks that can do both. */
  thinking?: boolean;
  /** Tokens of one answer. */
  maxTokens?: number;
  /** How the model calls tools, where the run says so. */
  toolProtocol?: NonNullable<RunContext["tool_protocol"]>;
  /** The session waits for a confirmation: every tool call is refused. */
  requiresConfirm: boolean;
  /** Where the turn is when the loop begins; without it, at its plan. */
  turnState?: TurnState;
  /** Says of a reply whether work is left; without it a whole reply ends the turn. */
  completion?: CompletionCheck | undefined;
  /** The user only wants to plan: nothing may be changed. */
  isPlanning?: boolean;
  /** The answer is for the program, not for the reader: its tokens are not streamed. */
  silent: boolean;
  /** The user's own words, where the last human message of the history is not theirs; only those can be a yes. */
  userRequest?: string;
  /** Set in the loop of a sub-agent. */
  agent?: AgentPlace;
}

/** Which sub-agent works, and for which call. */
export interface AgentPlace {
  name: string;
  /** The same after a crash, never used twice in a session: the ledger's name of the call, and the agent's place in it. */
  id: string;
  /** The session's message that asked for the work; what the agent changes is kept under it. */
  messageId: string;
}

/** What a model call is told of work that has finished in the background: the words, and what they are about. */
export interface BackgroundNews {
  text: string;
  /** Sessions of agents, and ids of commands. */
  fresh: string[];
}

/** The request with what the steps of this one call share in memory; all of it can be found again from the state. */
export interface LoopCall extends LoopRequest {
  /** The history as it may be shown: compacted, and cut where that is decided once for the call (law 5). */
  visible: BaseMessage[];
  /** What of it is left out because the user has said so much since. */
  earlier: BaseMessage[];
  /** What the model can be given to read; chosen from in each iteration. */
  documents: CallDocuments | undefined;
  /** The phase as last told. */
  phase: LoopPhase;
  turnState: TurnState;
  record: LoopRecord | undefined;
  clock: LoopClock;
  /** What the rules against loops said of the messages up to `last`. */
  review: { last: BaseMessage | undefined; count: number; findings: Finding[] } | undefined;
  /** What pruning leaves of the conversation with these messages. */
  shown: { last: BaseMessage | undefined; count: number; most: number; shown: Shown } | undefined;
  /** Keys of what is told only once. */
  told: Set<string>;
  /** What the model call under way is told of agents in the background. */
  news: BackgroundNews | undefined;
  /** What of the documentation counts since the last calls. */
  rules: string | null;
}

const callKey = "__millrace_loop";

/** The configuration that hands a request to the loop's steps. */
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
    clock: { since: Date.now(), before: undefined },
    review: undefined,
    shown: undefined,
    told: new Set(),
    news: undefined,
    rules: null,
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

/** The user's own words that this call works for. */
export function userWords({ userRequest, history }: LoopRequest): string {
  return userRequest ?? textOf(history.findLast((message) => isHumanMessage(message))?.content ?? "");
}

/** The language in which the user is asked and told something: that of their own words. */
export function userLanguage(call: LoopRequest): Language {
  return languageOfWords(userWords(call));
}

/** Notes messages of this call at once, so that a stop before the next checkpoint does not lose them. */
export function note(config: LangGraphRunnableConfig, messages: readonly BaseMessage[]): void {
  const { record } = loopCall(config);
  if (record !== undefined) addMessages(record, messages);
}

/**
 * Tells the run's readers (`custom` stream mode). What a sub-agent tells bears its name and id, and is not taken for
 * what the session does.
 */
export function emit(config: LangGraphRunnableConfig, event: CustomEvent): void {
  // Only withLoopCall sets this key; a node that emits outside of the loop has none.
  const agent = (config.configurable?.[callKey] as LoopCall | undefined)?.agent;
  if (agent === undefined) tellEvent(config, event);
  else config.writer?.({ ...event, agent: { name: agent.name, id: agent.id } });
}
