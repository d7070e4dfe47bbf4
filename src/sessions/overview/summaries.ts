import type { BaseMessage } from "@langchain/core/messages";
import { setImmediate as nextTurn } from "node:timers/promises";
import { z } from "zod";
import { fitSummary, plainSummary, SummaryAnswer } from "../../context/compression/compress.ts";
import { ConversationSummary } from "../../state.ts";
import { messagesIn } from "@millrace/engine/sessions/messages/conversation";
import type { Following } from "@millrace/engine/sessions/state/edit-messages";

/** Messages per summary. */
const messagesPerSummary = 10;
/** Summaries made before yielding to the event loop. */
const summariesPerStep = 20;

/** A summary up to one of a conversation's messages. */
export const ChatSummary = z.object({
  chatId: z.string(),
  summary: SummaryAnswer,
  createdAt: z
    .string()
    .nullable()
    .describe("When the last message was written that it speaks about, where that is known"),
  messages: z.number().int().describe("How many messages it speaks about, from the first on"),
});
export type ChatSummary = z.infer<typeof ChatSummary>;

/** The summaries of a conversation, oldest first, and the one that holds now. */
export const ChatSummaries = z.object({
  current: SummaryAnswer.nullable().describe(
    "That of the last compression, which a model may have written; else the newest",
  ),
  summaries: z.array(ChatSummary),
});

const WithSummary = z.object({ conversation_summary: ConversationSummary.nullable() });
const Dated = z.object({ timestamp: z.string() });

/**
 * A summary after every ten messages, each made by rule of the one before and what came since: they follow from the
 * messages and cost neither a model call nor a place to keep them.
 */
export async function summariesOf(sessionId: string, values: unknown): Promise<z.infer<typeof ChatSummaries>> {
  const messages = messagesIn(values);
  const summaries: ChatSummary[] = [];
  for (let end = messagesPerSummary; end <= messages.length; end += messagesPerSummary) {
    if (summaries.length % summariesPerStep === 0) await nextTurn();
    const batch = messages.slice(end - messagesPerSummary, end);
    const summary = fitSummary(plainSummary(batch, before(summaries)));
    summaries.push({ chatId: sessionId, summary, createdAt: writtenAt(batch), messages: end });
  }
  const summary = WithSummary.safeParse(values).data?.conversation_summary ?? null;
  const current = summary === null ? (summaries.at(-1)?.summary ?? null) : SummaryAnswer.parse(summary);
  return { current, summaries };
}

/**
 * The summary of a state that has lost messages (see `deleteMessage`): what it speaks about ends at the last one that is
 * still there, so that the next request does not begin anew with all of them.
 */
export const summaryWithout: Following = (values, before, after) => {
  const summary = WithSummary.safeParse(values).data?.conversation_summary ?? null;
  if (summary === null) return {};
  const left = new Set(after.map(({ id }) => id));
  const lastUpTo = (end: string): string => {
    const upTo = before.slice(0, before.findLastIndex(({ id }) => id === end) + 1);
    return upTo.findLast(({ id }) => left.has(id))?.id ?? "";
  };
  const { through_message_id, shown } = summary;
  const conversation_summary: ConversationSummary = {
    ...summary,
    through_message_id: lastUpTo(through_message_id),
    ...(shown && { shown: { ...shown, last_message_id: lastUpTo(shown.last_message_id) } }),
  };
  return { conversation_summary };
};

function before(summaries: readonly ChatSummary[]): ConversationSummary | null {
  const last = summaries.at(-1);
  return last === undefined ? null : { ...last.summary, through_message_id: "" };
}

function writtenAt(messages: readonly BaseMessage[]): string | null {
  const dates = messages.map(({ additional_kwargs }) => Dated.safeParse(additional_kwargs).data?.timestamp ?? null);
  return dates.findLast((date) => date !== null) ?? null;
}
