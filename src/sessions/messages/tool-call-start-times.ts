import type { BaseMessage } from "@langchain/core/messages";
import { isAIMessage, isToolMessage } from "@millrace/engine/message-kinds";
import type { LedgerReader } from "@millrace/engine/storage/attempt-store";
import type { Session } from "@millrace/engine/storage/records";
import { ledgerIdOf } from "../../tools/runtime/ledger-id.ts";

/** When the calls began whose results are among the messages, by the ids of these; `all`: the conversation. */
export async function toolCallStartTimes(
  ledger: LedgerReader,
  { session_id }: Session,
  messages: readonly BaseMessage[],
  all: readonly BaseMessage[],
): Promise<ReadonlyMap<string, string>> {
  const wanted = new Set(messages.filter((message) => isToolMessage(message)));
  if (wanted.size === 0) return new Map();
  const results = new Map<string, string>();
  const calls = new Map<string, string>();
  for (const message of all) {
    if (isAIMessage(message)) {
      for (const [index, { id }] of (message.tool_calls ?? []).entries()) {
        if (id !== undefined && message.id !== undefined) calls.set(id, ledgerIdOf(message.id, index));
      }
    } else if (isToolMessage(message) && message.id !== undefined && wanted.has(message)) {
      const call = calls.get(message.tool_call_id);
      if (call !== undefined) results.set(call, message.id);
    }
  }
  const begun = await ledger.begun(session_id, [...results.keys()]);
  return new Map([...begun].map(([call, at]) => [results.get(call) ?? call, at]));
}
