import type { BaseMessage } from "@langchain/core/messages";
import { z } from "zod";
import { isAIMessageChunk, textOf } from "@millrace/engine/message-kinds";
import type { CustomEvent } from "../events.ts";
import { ConversationState, LoopPhase, Orchestration, ToolCallStatus } from "../state.ts";
import { conversationAfter, type ConversationEvent } from "./conversation.ts";

/** State changes kept in memory for one run; the run's log has all of them. */
const maxMoves = 50;

/** Progress of a run's loop. `tokens` is the sum over all its model calls so far. */
const LoopProgress = z.object({
  phase: LoopPhase,
  iteration: z.number(),
  max_iterations: z.number(),
  tokens: z.number(),
});

/** One change of the conversation's state; `at` is ISO-8601. */
const ConversationMove = z.object({ from: z.string(), to: z.string(), at: z.string() });

/** How full the model's window was at its last call. */
const ContextWindow = z.object({ ratio: z.number(), level: z.enum(["normal", "hint", "full"]) });

/** Final statuses of a tool call. */
const ends: ReadonlySet<ToolCallStatus> = new Set(["completed", "failed", "blocked", "cancelled"]);

const OpenCall = z.object({ tool_call_id: z.string(), tool_name: z.string(), status: ToolCallStatus });

/** What a session shows of its running run, also to readers at other servers: JSON. */
export const LiveActivity = z.object({
  conversation: ConversationState,
  loop: LoopProgress.nullable(),
  turn: Orchestration.shape.state.nullable(),
  window: ContextWindow.nullable(),
  moves: z.array(ConversationMove).readonly(),
  /** Unfinished calls, the most recently changed last. */
  calls: z.array(OpenCall).readonly(),
  /** Text streamed so far of the current reply. */
  text: z.string(),
  /** Name of the tool call the model is writing now. */
  writing: z.string().nullable(),
});
export type LiveActivity = z.infer<typeof LiveActivity>;

type OpenCall = z.infer<typeof OpenCall>;

/** The state of one attempt of a run, derived from its events. For finished runs see `stateBetweenRuns`. */
export class Activity {
  loop: LiveActivity["loop"] = null;
  /** The turn's state after the last event. */
  turn: LiveActivity["turn"] = null;
  /** How full the model's window was at its last call. */
  window: LiveActivity["window"] = null;
  readonly moves: z.infer<typeof ConversationMove>[] = [];
  /** The attempt has emitted its end. */
  isOver = false;
  #conversation: ConversationState = { state: "Idle" };
  readonly #calls = new Map<string, OpenCall>();

  get conversation(): ConversationState {
    return this.#conversation;
  }

  /** What readers are shown of it. */
  get shown(): Omit<LiveActivity, "text" | "writing"> {
    const { conversation, loop, turn, window, moves } = this;
    return { conversation, loop, turn, window, moves, calls: this.openCalls() };
  }

  /** Unfinished calls, the most recently changed last. */
  openCalls(): OpenCall[] {
    return [...this.#calls.values()];
  }

  /** Applies an event. Returns the new state, or `undefined` if nothing changed for the user. */
  apply(event: ConversationEvent): ConversationState | undefined {
    const before = this.#conversation;
    const now = conversationAfter(before, event);
    if (now === before) return undefined;
    this.#conversation = now;
    this.moves.push({ from: before.state, to: now.state, at: new Date().toISOString() });
    if (this.moves.length > maxMoves) this.moves.shift();
    return now;
  }

  /** Applies a streamed chunk of a reply; chunks without text or reasoning change nothing. */
  onMessage(message: BaseMessage): ConversationState | undefined {
    if (!isAIMessageChunk(message)) return undefined;
    const state = this.#conversation;
    const message_id = message.id ?? null;
    if (state.state === "StreamingResponse" && state.message_id === message_id) return undefined;
    const text = textOf(message.content);
    if (text === "" && message.additional_kwargs["reasoning_content"] === undefined) return undefined;
    return this.apply({ kind: "first_chunk", message_id, text });
  }

  /** Applies an event of the loop or of a node. */
  onEvent(event: CustomEvent): ConversationState | undefined {
    // Events of a sub-agent belong to the call that started it.
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

  #called(event: OpenCall): ConversationState | undefined {
    const { tool_call_id, tool_name, status } = event;
    this.#calls.delete(tool_call_id);
    if (!ends.has(status)) this.#calls.set(tool_call_id, { tool_call_id, tool_name, status });
    return this.apply({ kind: "call", tool_call_id, tool_name, status });
  }
}
