import { randomUUID } from "node:crypto";
import { AIMessage, isAIMessage, isToolMessage, ToolMessage, type BaseMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { textOf } from "../context/tokens.ts";
import { workedMs } from "./limits.ts";
import { emit, loopCall, note } from "./request.ts";
import type { EndReason, LoopState, LoopUpdate } from "./state.ts";

/**
 * The one place that says a turn of the loop is over (law 7). It makes sure that there is an answer in words and that no
 * call is left without a result, whatever ended the loop.
 */
export async function finish(state: LoopState, config: LangGraphRunnableConfig): Promise<LoopUpdate> {
  const call = loopCall(config);
  const reason: EndReason = state.end_reason ?? state.closing ?? "answered";
  const messages = closingMessages(state, reason);
  const now = Date.now();
  emit(config, {
    type: "agentic_loop.complete",
    iterations: state.iteration_count,
    total_tokens: state.total_tokens_used,
    end_reason: reason,
    duration_ms: workedMs(state, now),
  });
  note(config, [...state.messages, ...messages]);
  call.phase = "idle";
  return { messages, end_reason: reason, phase: reason === "error" ? "error" : "complete" };
}

/** What has to be added so that the turn ends well; nothing when the last reply already does. */
export function closingMessages(state: Pick<LoopState, "messages" | "last_error">, reason: EndReason): BaseMessage[] {
  const last = state.messages.at(-1);
  const added: BaseMessage[] = [];
  if (last !== undefined && isAIMessage(last)) {
    for (const open of last.tool_calls ?? []) {
      added.push(
        new ToolMessage({
          id: randomUUID(),
          tool_call_id: open.id ?? "",
          name: open.name,
          status: "error",
          content: "Not run: the turn had to end here.",
        }),
      );
    }
    if (added.length === 0 && textOf(last.content).trim() !== "") return [];
  }
  added.push(
    new AIMessage({
      id: randomUUID(),
      content: knownSoFar(state, reason),
      additional_kwargs: { timestamp: new Date().toISOString(), end_reason: reason },
    }),
  );
  return added;
}

const openings: Record<EndReason, string> = {
  answered: "The model gave no answer in words.",
  iteration_limit: "I stopped here because the limit of rounds for one turn is reached.",
  timeout: "I stopped here because the time for one turn is used up.",
  token_limit: "I stopped here because the token budget for one turn is used up.",
  error: "I had to stop because the model could not be asked again.",
};

function knownSoFar(state: Pick<LoopState, "messages" | "last_error">, reason: EndReason): string {
  const lines = [openings[reason]];
  if (state.last_error !== null) lines.push(`Reason: ${state.last_error}`);
  const results = state.messages.filter(isToolMessage);
  if (results.length > 0) lines.push("What was done so far:");
  for (const result of results) {
    const text = textOf(result.content).split("\n", 1)[0] ?? "";
    lines.push(`- ${result.name ?? "tool"}: ${text.length > 160 ? `${text.slice(0, 159)}…` : text}`);
  }
  return lines.join("\n");
}
