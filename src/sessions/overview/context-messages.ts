import type { BaseMessage } from "@langchain/core/messages";
import { z } from "zod";
import { isAIMessage, textOf } from "@millrace/engine/message-kinds";
import { messagesIn, pageOfMessages } from "@millrace/engine/sessions/messages/conversation";
import { ModelView, modelViewOf, roleOf, wordsOf } from "@millrace/engine/sessions/messages/message-fields";
import type { OwnerScope } from "@millrace/engine/sessions/scope/owner-scope";
import { readValues } from "@millrace/engine/sessions/sessions";
import type { Session } from "@millrace/engine/storage/records";
import { importanceLevels, importanceOf, levelOf } from "../../context/compression/importance.ts";
import { countMessage } from "../../context/tokens/tokens.ts";
import { afterSummary } from "../../context/view.ts";
import { ConversationSummary } from "../../state.ts";

/** How the last request had a message. */
const InRequest = z.enum(["whole", "shortened", "summary", "left_out", "hidden", "later"]);

/** The messages of a conversation as its model sees them, oldest first. */
export const ContextMessages = z.object({
  messages: z.array(
    z.object({
      id: z.string().nullable(),
      role: z.string(),
      preview: z.string().describe("The first 200 characters"),
      tokens: z.number().int().describe("Estimated, of the whole message"),
      importance: z.enum(importanceLevels).describe("What it is worth when the conversation has to become shorter"),
      model_view: ModelView.nullable().describe("What its user wants; null: neither"),
      in_request: InRequest.describe(
        "How the last request had it. summary: a summary stands for it; left_out: there was no room, or the model did not " +
          "want it; hidden: its user hides it; later: it came after that request",
      ),
    }),
  ),
  total: z.number().int(),
  before: z.string().nullable().describe("Ask with it for the messages before these; null when there are none"),
});
type ContextMessages = z.infer<typeof ContextMessages>;

const WithSummary = z.object({ conversation_summary: ConversationSummary.nullable().default(null).catch(null) });

/** A page of a session's messages with what the model sees of each; the last ones, or those before one. */
export async function readContextMessages(
  storage: OwnerScope["storage"],
  session: Session,
  page: { limit: number; before?: string | undefined },
): Promise<ContextMessages> {
  const { session_id: id } = session;
  const [values, last] = await Promise.all([readValues(storage, id), storage.requests.last(id)]);
  const all = messagesIn(values);
  const { conversation_summary: summary } = WithSummary.parse(values ?? {});
  const sent = new Map(last?.messages.map((message) => [message.id, message]));
  const places = new Map(all.map((message, place) => [message, place]));
  const seen = {
    sent,
    summarised: afterSummary(all, summary),
    end: all.findLastIndex((message) => message.id !== undefined && sent.has(message.id)),
  };
  const { messages, ...rest } = pageOfMessages(all, page);
  return {
    ...rest,
    messages: messages.map((message) => {
      const place = places.get(message) ?? -1;
      return {
        id: message.id ?? null,
        role: roleOf(message),
        preview: previewOf(message),
        tokens: countMessage(message),
        importance: levelOf(importanceOf(all, place)),
        model_view: modelViewOf(message),
        in_request: inRequest(message, place, seen),
      };
    }),
  };
}

function inRequest(
  message: BaseMessage,
  place: number,
  { sent, summarised, end }: { sent: ReadonlyMap<string | undefined, BaseMessage>; summarised: number; end: number },
): z.infer<typeof InRequest> {
  const asSent = message.id === undefined ? undefined : sent.get(message.id);
  if (asSent !== undefined) return sizeOf(asSent) < sizeOf(message) ? "shortened" : "whole";
  if (modelViewOf(message) === "hide") return "hidden";
  if (place < summarised) return "summary";
  return place > end ? "later" : "left_out";
}

function sizeOf(message: BaseMessage): number {
  const calls = isAIMessage(message) ? JSON.stringify(message.tool_calls ?? []) : "";
  return textOf(message.content).length + calls.length;
}

function previewOf(message: BaseMessage): string {
  const words = wordsOf(message).slice(0, 1000).replaceAll(/\s+/gu, " ").trim();
  const calls = isAIMessage(message) ? (message.tool_calls ?? []).map(({ name }) => name) : [];
  return (words === "" ? calls.join(", ") : words).slice(0, 200).toWellFormed();
}
