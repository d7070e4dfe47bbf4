import type { BaseMessage } from "@langchain/core/messages";
import { isAIMessageChunk, textOf } from "@millrace/engine/message-kinds";
import type { CustomEvent } from "../events.ts";
import type { ConversationState, LoopPhase, Orchestration, ToolCallStatus } from "../state.ts";
import { afterTold, type ConversationName, type Told } from "./conversation.ts";

/** Moves of the conversation that are remembered of one run; the run's log has all of them. */
const movesKept = 50;

/** How far the loop of a run is. Tokens are those of all model calls of this loop so far. */
export interface LoopProgress {
  phase: LoopPhase;
  iteration: number;
  max_iterations: number;
  tokens: number;
}

/** One change of the conversation, with its time in ISO-8601. */
export interface ConversationMove {
  from: ConversationName;
  to: ConversationName;
  at: string;
}

/** Ends of a tool call: nothing comes after them. */
const ends: ReadonlySet<ToolCallStatus> = new Set(["completed", "failed", "blocked", "cancelled"]);

/** A working run, as its session shows it. */
export interface LiveActivity {
  activity: Activity;
  /** What has come of the reply that is being streamed. */
  text: string;
  /** The tool of the call that the model is writing at this moment. */
  writing: string | null;
}

/** What one attempt of a run is doing now, derived from its events. For runs that are over see `restingState`. */
export class Activity {
  loop: LoopProgress | null = null;
  /** Where the turn is, by the last event. */
  turn: Orchestration["state"] | null = null;
  /** How full the model's window was at its last call. */
  window: { ratio: number; level: "normal" | "hint" | "full" } | null = null;
  readonly moves: ConversationMove[] = [];
  /** The attempt has emitted its end. */
  isOver = false;
  #conversation: ConversationState = { state: "Idle" };
  readonly #calls = new Map<string, { tool_call_id: string; tool_name: string; status: ToolCallStatus }>();

  get conversation(): ConversationState {
    return this.#conversation;
  }

  /** Calls that have begun and not ended, in the order of their last change. */
  openCalls(): { tool_call_id: string; tool_name: string; status: ToolCallStatus }[] {
    return [...this.#calls.values()];
  }

  /** Takes the conversation on; the new state, or `undefined` when nothing has changed for the user. */
  tell(told: Told): ConversationState | undefined {
    const before = this.#conversation;
    const now = afterTold(before, told);
    if (now === before) return undefined;
    this.#conversation = now;
    this.moves.push({ from: before.state, to: now.state, at: new Date().toISOString() });
    if (this.moves.length > movesKept) this.moves.shift();
    return now;
  }

  /** A chunk of a reply that readers have received; chunks without text change nothing. */
  heard(message: BaseMessage): ConversationState | undefined {
    if (!isAIMessageChunk(message)) return undefined;
    const state = this.#conversation;
    const message_id = message.id ?? null;
    if (state.state === "StreamingResponse" && state.message_id === message_id) return undefined;
    const text = textOf(message.content);
    if (text === "" && message.additional_kwargs["reasoning_content"] === undefined) return undefined;
    return this.tell({ kind: "heard", message_id, text });
  }

  /** An event of the loop or of a node. */
  noted(event: CustomEvent): ConversationState | undefined {
    // What an agent does inside a call is part of that call.
    if ("agent" in event) return undefined;
    switch (event.type) {
      case "agentic_loop.started":
        this.loop = { phase: "idle", iteration: 0, max_iterations: event.max_iterations, tokens: 0 };
        return undefined;
      case "agentic_loop.state_changed":
        if (this.loop !== null) this.loop = { ...this.loop, phase: event.to_state, iteration: event.iteration };
        return undefined;
      case "agentic_loop.iteration":
        if (this.loop !== null) this.loop = { ...this.loop, tokens: event.total_tokens };
        return undefined;
      case "orchestration_changed":
        this.turn = event.to_state;
        return undefined;
      case "context_usage":
        this.window = { ratio: event.ratio, level: event.level };
        return undefined;
      case "tool_status":
        return this.#called(event);
      default:
        return undefined;
    }
  }

  #called(event: { tool_call_id: string; tool_name: string; status: ToolCallStatus }): ConversationState | undefined {
    const { tool_call_id, tool_name, status } = event;
    this.#calls.delete(tool_call_id);
    if (!ends.has(status)) this.#calls.set(tool_call_id, { tool_call_id, tool_name, status });
    return this.tell({ kind: "call", tool_call_id, tool_name, status });
  }
}
