import { isAIMessage, isBaseMessage, isBaseMessageChunk, messageText } from "@millrace/engine/message-kinds";
import type { Language } from "@millrace/engine/language";
import type { CustomEvent } from "../../../src/events.ts";
import type { RunEvent } from "@millrace/engine/run-events";
import type { Question } from "@millrace/engine/sessions/questions/questions";
import type { RunError } from "@millrace/engine/storage/records";
import { toWireRunError } from "@millrace/engine/http/errors";

/** The items of a chat stream: text, tool calls, questions, and the end. */
export type ChatItem =
  | { type: "text"; content: string }
  /** A tool card: first `running` with its parameters, then again with the same id and the outcome. */
  | { type: "tool"; id: string; name: string; status: "running"; params: unknown }
  | { type: "tool"; id: string; name: string; status: "success" | "error"; message: string }
  /** The conversation waits for an answer: as text in the next message, or at `/threads/:id/approvals/:question_id`. */
  | { type: "question"; question_id: string; kind: string; question: string; tool: string | null; params: unknown }
  | { type: "error"; message: string; errorType: string; suggestion?: string; recoverable?: boolean }
  | { type: "done" };

/** An item's event name: text uses plain messages, as the endpoint's first clients expect. */
function eventName({ type }: ChatItem): string {
  return type === "text" ? "message" : type;
}

/** An item as a server-sent event; `id` is the run event's. */
export function chatFrame(item: ChatItem, id?: number): string {
  const end = id === undefined ? "\n" : `id: ${id}\n\n`;
  return `event: ${eventName(item)}\ndata: ${JSON.stringify(item)}\n${end}`;
}

/**
 * Maps a run's events to items, in order. It remembers emitted messages, since some arrive both in chunks and whole.
 */
export function createChatReader(language: Language): (event: RunEvent) => ChatItem | undefined {
  const emitted = new Set<string>();
  let last: { id: string; text: string } | undefined;
  return (event) => {
    switch (event.event) {
      case "messages": {
        const piece = wordsOf(event.data, emitted);
        if (piece === undefined) return undefined;
        const gap = last === undefined || last.id === piece.id ? "" : "\n\n".slice(newlines(last.text));
        last = piece;
        return { type: "text", content: gap + piece.text };
      }
      case "custom":
        return cardOf(event.data);
      case "error":
        return errorItem(event.data, language);
      default:
        return undefined;
    }
  };
}

/** The number of newlines at a text's end, at most two. */
function newlines(text: string): number {
  return text.endsWith("\n\n") ? 2 : Number(text.endsWith("\n"));
}

/** New assistant text in a message or chunk. */
function wordsOf(message: unknown, emitted: Set<string>): { id: string; text: string } | undefined {
  if (!isBaseMessage(message) || !isAIMessage(message)) return undefined;
  const { id = "" } = message;
  const text = messageText(message);
  const isPiece = isBaseMessageChunk(message);
  if (!isPiece && emitted.has(id)) return undefined;
  if (text === "") return undefined;
  emitted.add(id);
  return { id, text };
}

/** Cards of the assistant's own calls; sub-agents' calls are not shown. */
function cardOf(data: unknown): ChatItem | undefined {
  if (typeof data !== "object" || data === null || !("type" in data) || "agent" in data) return undefined;
  // In our graphs only our loop writes to this stream; in others, events of the same form are accepted.
  const event = data as CustomEvent;
  if (event.type === "agentic_loop.tool_called") {
    const { tool_call_id: id, tool_name: name, arguments: params } = event;
    return { type: "tool", id, name, status: "running", params };
  }
  if (event.type !== "agentic_loop.tool_result") return undefined;
  const { tool_call_id: id, tool_name: name, success, result_preview: message } = event;
  return { type: "tool", id, name, status: success ? "success" : "error", message };
}

/** A run's failure for its reader. */
export function errorItem(error: RunError, language: Language): ChatItem {
  const { error: errorType, ...details } = toWireRunError(error, language) as RunError;
  return { type: "error", errorType, ...details };
}

/** An open question. */
export function questionItem(id: string, parsed: Question, question: string): ChatItem {
  const [action] = parsed.actions;
  const { name: tool = null, args: params = null } = action ?? {};
  return { type: "question", question_id: id, kind: parsed.kind, question, tool, params };
}
