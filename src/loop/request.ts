import type { BaseMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { AppError } from "../errors.ts";
import type { CustomEvent } from "../events.ts";
import type { ConversationSummary, LoopLimits, LoopPhase } from "../state.ts";
import type { Tool } from "../tools/tool.ts";
import { nextPhase, type PhaseEvent } from "./phases.ts";
import { addMessages, type LoopRecord } from "./progress.ts";
import { servicesOf, taskPathOf } from "./services.ts";

/**
 * What a node hands to the loop. It travels beside the loop's state, not in it: after a crash the node runs again from its
 * first line and hands over the same, so nothing of the history is stored a second time.
 */
export interface LoopRequest {
  /** The node that calls, for events. */
  node: string;
  /** The system text, the same through all iterations (LOOP-05). */
  system: string;
  history: BaseMessage[];
  summary: ConversationSummary | null;
  /** What to do now, where it is not simply the last message of the history. Seen by the model, never stored. */
  instruction?: string;
  /** What the model may call; empty for a plain answer. */
  tools: Tool[];
  /** The tool that the first iteration must call (TOOL-08); later iterations then have none. */
  forcedTool?: string;
  limits: LoopLimits;
  model: string;
  temperature?: number;
  /** The session waits for a confirmation: every tool call is refused (STATE-04). */
  requiresConfirm: boolean;
  /** The answer is for the program, not for the reader: its tokens are not streamed. */
  silent: boolean;
}

/** The request with what the steps of this one call share in memory: the phase as last told, and what was added. */
export interface LoopCall extends LoopRequest {
  phase: LoopPhase;
  record: LoopRecord | undefined;
}

const callKey = "__millrace_loop";

/** The configuration that hands a request to the loop's steps. */
export function withLoopCall(config: LangGraphRunnableConfig, request: LoopRequest): LangGraphRunnableConfig {
  const record = servicesOf(config).progress?.begin(taskPathOf(config), request.silent);
  const call: LoopCall = { ...request, phase: "idle", record };
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

/** Notes messages of this call at once, so that a stop before the next checkpoint does not lose them (STOP-10). */
export function note(config: LangGraphRunnableConfig, messages: readonly BaseMessage[]): void {
  const { record } = loopCall(config);
  if (record !== undefined) addMessages(record, messages);
}

/** Tells the run's readers (`custom` stream mode). */
export function emit(config: LangGraphRunnableConfig, event: CustomEvent): void {
  config.writer?.(event);
}

/**
 * Moves the loop's phase and tells it. `stored` is the phase in the state: after a restart the memory starts at `idle`
 * and takes up from there.
 */
export function move(
  config: LangGraphRunnableConfig,
  event: PhaseEvent,
  stored: LoopPhase,
  iteration: number,
): LoopPhase {
  const call = loopCall(config);
  if (call.phase === "idle" && event !== "start") call.phase = stored;
  const from = call.phase;
  const to = nextPhase(from, event);
  call.phase = to;
  if (from !== to) {
    emit(config, { type: "agentic_loop.state_changed", from_state: from, to_state: to, iteration });
  }
  return to;
}
