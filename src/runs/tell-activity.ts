import type { BaseMessage } from "@langchain/core/messages";
import { isBaseMessage, isAIMessage } from "@millrace/engine/message-kinds";
import type { CustomEvent } from "../events.ts";
import type { Logger } from "@millrace/engine/logger";
import type { ConversationState } from "../state.ts";
import { Activity } from "./activity.ts";
import type { ActiveRun } from "./active-run.ts";
import { logEvent } from "./log-event.ts";
import type { EventBody } from "./log.ts";
import type { Told } from "./conversation.ts";

/**
 * Tells an event of ours on the run's `custom` stream, where the run has one, its graph is one of ours, and the log has
 * room for one more. Each bears its time; the run, the session and the place in the order are those of the log.
 */
export function tellCustom(active: ActiveRun, event: CustomEvent): void {
  if (!active.run.kwargs.stream_mode.includes("custom") || active.log.room() !== undefined) return;
  active.log.emit({ event: "custom", namespace: [], data: stamped(event) });
}

function stamped(event: object): object {
  return { ...event, time: new Date().toISOString() };
}

/** What a graph that calls our loop tells gets its time; all else goes on as it came. */
export function stampOurs(active: ActiveRun, event: EventBody): EventBody {
  if (event.event !== "custom" || !active.callsLoop || !isEvent(event.data)) return event;
  return { ...event, data: stamped(event.data) };
}

function isEvent(data: unknown): data is object {
  return typeof data === "object" && data !== null && "type" in data;
}

/**
 * Hears what the loop tells, in the moment it does: the log has it, and the status follows it also where no reader has
 * asked for it.
 */
export function listenerOf(active: ActiveRun, logger: Logger): (event: CustomEvent) => void {
  const isStreamed = active.run.kwargs.stream_mode.includes("custom");
  return (event) => {
    logEvent(logger, active.run, event);
    active.callbacks?.noted(event);
    if (!isStreamed && !active.ended) active.activity?.noted(event);
  };
}

/** Begins an attempt: whatever the last one has left half done, the conversation begins at rest. */
export function beginActivity(active: ActiveRun, callsLoop: boolean): void {
  active.activity = new Activity();
  active.callsLoop = callsLoop;
  if (callsLoop) tellCustom(active, { type: "workflow_locked" });
  tellState(active, active.activity.conversation);
  tellConversation(active, { kind: "sent" });
}

/** Takes the conversation on and tells it where it has changed: after what it was told for, never per token. */
export function tellConversation(active: ActiveRun, told: Told): void {
  tellState(active, active.activity?.tell(told));
}

/** Follows one chunk of LangGraph's stream that the readers have been told. */
export function followChunk(active: ActiveRun, mode: string, payload: unknown): void {
  if (mode === "custom" && active.callsLoop) {
    if (!isEvent(payload)) return;
    // What a graph that calls our loop tells is ours, or of a type that is left alone.
    tellState(active, active.activity?.noted(payload as CustomEvent));
  } else if (mode === "messages") {
    // LangGraph's `messages` mode always gives a pair of message and metadata.
    const [message, metadata] = payload as [BaseMessage, Record<string, unknown>];
    active.callbacks?.heard(message);
    // What an agent says is no part of the reply, and of several at once each word would be a change.
    if (!("sub_agent" in metadata)) tellState(active, active.activity?.heard(message));
  }
}

/**
 * Ends an attempt that is over, once: calls that a stop has cut off are cancelled, nothing is locked, the conversation rests.
 */
export function endActivity(active: ActiveRun, told: Told): void {
  const { activity } = active;
  if (activity === undefined || activity.isOver) return;
  activity.isOver = true;
  if (told.kind === "stopped") {
    for (const call of activity.openCalls()) {
      const event: CustomEvent = { type: "tool_status", ...call, status: "cancelled" };
      if (active.callsLoop) tellCustom(active, event);
      tellState(active, activity.noted(event));
    }
  }
  if (active.callsLoop) tellCustom(active, { type: "workflow_unlocked" });
  const open = activity.openCalls().at(-1);
  // A question is what the conversation rests at.
  if (told.kind === "replied" && open !== undefined) tellConversation(active, { kind: "call", ...open });
  else tellConversation(active, told);
}

/** The id of the reply that an attempt ends with: in the state it left, else of what its loop calls said. */
export function replyIdOf({ progress }: ActiveRun, values: Record<string, unknown> | undefined): string | null {
  const said = progress.records.filter(({ silent }) => !silent).flatMap(({ messages }) => messages);
  return lastReplyId(values?.["messages"]) ?? lastReplyId(said);
}

/** The id of the last reply in a list of messages. */
export function lastReplyId(messages: unknown): string | null {
  if (!Array.isArray(messages)) return null;
  const reply: unknown = messages.findLast((message: unknown) => isBaseMessage(message) && isAIMessage(message));
  return isBaseMessage(reply) ? (reply.id ?? null) : null;
}

function tellState(active: ActiveRun, state: ConversationState | undefined): void {
  if (state === undefined || !active.callsLoop) return;
  tellCustom(active, { type: "conversation_state", ...state });
}
