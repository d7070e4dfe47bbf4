import type { BaseMessage } from "@langchain/core/messages";
import { z } from "zod";
import { isAIMessage, isBaseMessage } from "@millrace/engine/message-kinds";
import type { ConversationState } from "../state.ts";
import type { Run, Session } from "@millrace/engine/storage/records";
import { failedState } from "./conversation.ts";

const AboutCall = z.object({ kind: z.string(), tool_call_id: z.string(), tool: z.string() });
const AboutFailure = z.object({ kind: z.literal("error_decision"), question: z.string(), details: z.string() });

/**
 * The state of a conversation without a running attempt, derived from the last run, the open question and the messages,
 * so it survives a restart. `run` is the last run, `undefined` if there was none.
 */
export function stateBetweenRuns(
  run: Run | undefined,
  { interrupts }: Pick<Session, "interrupts">,
  messages: readonly BaseMessage[],
): ConversationState {
  if (run === undefined) return { state: "Idle" };
  const message_id = lastReplyId(messages);
  switch (run.status) {
    case "pending":
    case "running":
      return { state: "WaitingAIResponse", message_id: null };
    case "error":
    case "timeout": {
      // A turn that timed out ends with a closing message.
      const last = messages.at(-1);
      if (run.status === "timeout" && last !== undefined && isAIMessage(last))
        return { state: "Completed", message_id };
      return failedState(run.error ?? { error: "timeout", message: "The run took too long." }, message_id);
    }
    case "interrupted": {
      const last = messages.at(-1);
      const isKept = last !== undefined && isAIMessage(last) && last.additional_kwargs["is_partial"] === true;
      return isKept ? { state: "Completed", message_id } : { state: "Idle" };
    }
    case "success":
      return stateForQuestion(interrupts, message_id) ?? { state: "Completed", message_id };
  }
}

/** The state for a call or a failure that waits for a person's decision; other questions count as replies. */
function stateForQuestion(interrupts: Session["interrupts"], message_id: string | null): ConversationState | undefined {
  for (const { value } of Object.values(interrupts).flat()) {
    const call = AboutCall.safeParse(value).data;
    if (call !== undefined) {
      const isQuestion = ["followup", "plan_review", "client_tool"].includes(call.kind);
      const status = isQuestion ? "awaiting_answer" : "awaiting_confirmation";
      return { state: "ToolCalling", message_id, tool_call_id: call.tool_call_id, tool_name: call.tool, status };
    }
    const failure = AboutFailure.safeParse(value).data;
    if (failure !== undefined) {
      return { state: "Error", message_id, error: failure.details, recoverable: true, suggestion: failure.question };
    }
  }
  return undefined;
}

/** The id of the last reply in a list of messages. */
export function lastReplyId(messages: unknown): string | null {
  if (!Array.isArray(messages)) return null;
  const reply: unknown = messages.findLast((message: unknown) => isBaseMessage(message) && isAIMessage(message));
  return isBaseMessage(reply) ? (reply.id ?? null) : null;
}
