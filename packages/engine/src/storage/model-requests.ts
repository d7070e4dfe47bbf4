import { hash } from "node:crypto";
import {
  BaseMessage,
  mapChatMessagesToStoredMessages,
  mapStoredMessagesToChatMessages,
  type StoredMessage,
} from "@langchain/core/messages";
import { z } from "zod";
import { AppError } from "../errors/errors.ts";
import type { ModelCall, ModelRequest, RequestHead } from "./record-stores.ts";

/** Messages of one group of a row. A message that is not stored elsewhere costs its group the short form, not the row. */
const groupSize = 64;

/** What the row of a request says in columns; `head` and `tools` are hashes of texts. */
export const RequestRow = z.object({
  model_call_id: z.string().nullable(),
  node: z.string(),
  is_silent: z.number(),
  asked_at: z.string(),
  head: z.string(),
  tools: z.string(),
});
export type RequestRow = z.infer<typeof RequestRow>;

/** A request of a run in a list. */
export const CallRow = RequestRow.pick({ model_call_id: true, node: true, is_silent: true, asked_at: true })
  .extend({ number: z.number(), run_id: z.string() })
  .transform(({ is_silent, ...row }): ModelCall => ({ ...row, is_silent: is_silent === 1 }));

const StoredHead = z.object({
  system: z.string(),
  parts: z.array(
    z.object({
      name: z.string(),
      section: z.string(),
      characters: z.number(),
      values: z.record(z.string(), z.unknown()).optional(),
    }),
  ),
  documentation: z.array(z.custom<StoredMessage>(isStoredMessage)),
});
const StoredRequest = z.object({
  run_id: z.string(),
  model: z.string(),
  temperature: z.number().nullable(),
  /** Older rows have none of these. */
  thinking: z.boolean().nullable().default(null),
  max_tokens: z.number().nullable().default(null),
  tool_protocol: z.enum(["native", "text", "tags"]).nullable().default(null),
  forced_tool: z.string().nullable(),
  groups: z.array(z.array(z.instanceof(BaseMessage))),
});
const Hashes = z.array(z.string());
const Definition = z.record(z.string(), z.unknown());

/** A text that many requests share, which is stored once by its hash. */
export interface SharedText {
  hash: string;
  text: string;
}

/** The shared texts of requests. An object that was seen before is not hashed again. */
export class SharedTexts {
  readonly #seen = new WeakMap<object, SharedText>();

  /** The head of a request, the definitions of its tools, and the list of those. */
  of(request: ModelRequest): { head: SharedText; definitions: SharedText[]; tools: SharedText } {
    const head = this.#ofObject(request.head, () => headText(request.head));
    const definitions = request.tools.map((tool) => this.#ofObject(tool, () => JSON.stringify(tool)));
    return { head, definitions, tools: hashed(JSON.stringify(definitions.map((definition) => definition.hash))) };
  }

  #ofObject(object: object, write: () => string): SharedText {
    const seen = this.#seen.get(object);
    if (seen !== undefined) return seen;
    const made = hashed(write());
    this.#seen.set(object, made);
    return made;
  }
}

function hashed(text: string): SharedText {
  return { hash: hash("sha256", text, "base64url"), text };
}

/** The value of a request for the codec: what was asked, with its messages, which are those of the session. */
export function toStored(request: ModelRequest): unknown {
  const { run_id, model, temperature, thinking, max_tokens, tool_protocol, forced_tool, messages } = request;
  const groups: BaseMessage[][] = [];
  for (let from = 0; from < messages.length; from += groupSize) groups.push(messages.slice(from, from + groupSize));
  return { run_id, model, temperature, thinking, max_tokens, tool_protocol, forced_tool, groups };
}

/** The request again, from its row, the value that `toStored` made, and its texts. */
export function fromStored(
  session_id: string,
  { model_call_id, node, is_silent, asked_at }: RequestRow,
  { value, head, tools }: { value: unknown; head: string; tools: readonly object[] },
): ModelRequest {
  const { groups, ...rest } = StoredRequest.parse(value);
  const { documentation, ...text } = StoredHead.parse(JSON.parse(head));
  const about = { session_id, model_call_id, node, is_silent: is_silent === 1, asked_at };
  const documents = mapStoredMessagesToChatMessages(documentation);
  return { ...rest, ...about, head: { ...text, documentation: documents }, tools, messages: groups.flat() };
}

/** The hashes of the definitions in a list of tools. */
export function hashesIn(list: string): string[] {
  return Hashes.parse(JSON.parse(list));
}

/** A stored definition of a tool. */
export function readDefinition(text: string): object {
  return Definition.parse(JSON.parse(text));
}

/** The error for a text that is not there. */
export function missingText(): AppError {
  return new AppError("storage_corrupt", "A part of what the model was last sent is missing.", {
    suggestion: "It is there again after the next message of the session.",
  });
}

/** A head is shared by sessions, so it refers to no message of one. */
function headText({ documentation, ...head }: RequestHead): string {
  return JSON.stringify({ ...head, documentation: mapChatMessagesToStoredMessages(documentation) });
}

function isStoredMessage(value: unknown): boolean {
  return typeof value === "object" && value !== null && "type" in value && "data" in value;
}
