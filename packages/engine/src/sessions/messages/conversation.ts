import type { BaseMessage } from "@langchain/core/messages";
import { v7 as newId } from "@langchain/core/utils/uuid";
import { z } from "zod";
import { isAIMessage, isBaseMessage, isHumanMessage, repairToolPairs, textOf } from "../../message-kinds.ts";
import { AppError } from "../../errors/errors.ts";
import { requireCheckpoint } from "../../runs/admission/next-nodes.ts";
import type { SessionStorage } from "../scope/session-storage.ts";
import { readValues } from "../sessions.ts";
import type { Session } from "../../storage/records.ts";
import type { Language } from "../../language.ts";
import { type MessageRole, readExtras, roleOf, wordsOf } from "./message-fields.ts";
import { isHidden } from "./stored-message.ts";

const WithMessages = z.looseObject({ messages: z.array(z.custom<BaseMessage>(isBaseMessage)) });

/** The messages in a state's values; none if the graph has none. */
export function messagesIn(values: unknown): BaseMessage[] {
  return WithMessages.safeParse(values).data?.messages ?? [];
}

/** The messages of a session, oldest first, as they are or as they were at a checkpoint. Throws `not_found` for an unknown one. */
export async function readMessages(
  storage: SessionStorage,
  sessionId: string,
  checkpointId?: string,
): Promise<BaseMessage[]> {
  if (checkpointId === undefined) return messagesIn(await readValues(storage, sessionId));
  const place = { thread_id: sessionId, checkpoint_ns: "", checkpoint_id: checkpointId };
  return messagesIn((await requireCheckpoint(place, storage.checkpointer)).checkpoint.channel_values);
}

/** A list that strict providers accept: each call has its result; a missing one gets an id of its own. */
export function validList(messages: BaseMessage[]): BaseMessage[] {
  const known = new Set(messages);
  const valid = repairToolPairs(messages);
  for (const message of valid) if (!known.has(message)) message.id ??= newId();
  return valid;
}

/** A message in any form. */
type WithId = { id?: string | null | undefined };

/** The index of a message, by its id or the first 8 or more characters of it. Throws `not_found`. */
export function indexOfMessage(messages: readonly WithId[], messageId: string): number {
  const exact = messages.findLastIndex(({ id }) => id === messageId);
  if (exact !== -1) return exact;
  const [only, another] = messageId.length < 8 ? [] : messages.filter(({ id }) => id?.startsWith(messageId) === true);
  if (only !== undefined && another === undefined) return messages.indexOf(only);
  const what = another === undefined ? "not found in this thread" : "stands for several messages of this thread";
  throw new AppError("not_found", `Message ${messageId} ${what}`, {
    suggestion: "GET /threads/:id/messages lists the messages with their ids.",
  });
}

/** A page of messages, and where the next one begins. */
export interface MessagePage<Message> {
  messages: Message[];
  total: number;
  /** Id of the message before which there are more; `null` if the page begins with the first one. */
  before: string | null;
}

/** The last `limit` messages, or those before the message `before`. Throws `not_found`. */
export function pageOfMessages<Message extends WithId>(
  messages: readonly Message[],
  query: { limit: number; before?: string | undefined },
): MessagePage<Message> {
  const end = query.before === undefined ? messages.length : indexOfMessage(messages, query.before);
  const begin = Math.max(0, end - query.limit);
  const page = messages.slice(begin, end);
  return { messages: page, total: messages.length, before: begin === 0 ? null : (page[0]?.id ?? null) };
}

/** Maximum characters of a generated title. */
const titleLength = 40;
/** Maximum characters of a user's title. */
const nameLength = 200;

const segmenter = new Intl.Segmenter();

/** A session name set by a user: one line, not empty. */
export const SessionName = z
  .string()
  .trim()
  .min(1)
  .max(nameLength)
  .refine((name) => !/\p{Cc}/u.test(name), { error: "a name is one line without control characters" });

/** The source of a session's name: a user, the model, the rule, or a date while there is no message. */
export const NameSource = z.enum(["given", "model", "first_message", "default"]);
type NameSource = z.infer<typeof NameSource>;

/** A session's name and its source. */
interface NamedBy {
  name: string;
  source: NameSource;
}

/**
 * The name of a session: its `metadata.name`, else the model's title, else a title from the user's first message, else
 * `Chat YYYY-MM-DD HH:mm` (UTC).
 */
export function nameOf(session: Pick<Session, "metadata" | "created_at">, messages: readonly BaseMessage[]): NamedBy {
  const given = textIn(session.metadata["name"]);
  if (given !== undefined) return { name: given, source: "given" };
  const title = textIn(session.metadata["title"]);
  if (title !== undefined) return { name: title, source: "model" };
  const first = messages.find((message) => isHumanMessage(message));
  const byRule = first === undefined ? undefined : titleFrom(textOf(first.content));
  if (byRule !== undefined) return { name: byRule, source: "first_message" };
  const [date, time] = [session.created_at.slice(0, 10), session.created_at.slice(11, 16)];
  return { name: `Chat ${date} ${time}`, source: "default" };
}

function textIn(value: unknown): string | undefined {
  return typeof value === "string" && value.trim() !== "" ? value.trim() : undefined;
}

/**
 * A title by rule: the first sentence of the first line with words, without formatting marks, cut between words.
 * `undefined` for text without letters or digits.
 */
export function titleFrom(text: string): string | undefined {
  const withoutCode = text.slice(0, 4000).replaceAll(/```[\s\S]*?(?:```|$)/gu, "\n");
  for (const line of [...withoutCode.split("\n"), ...text.slice(0, 4000).split("\n")]) {
    const plain = line
      .replaceAll(/!?\[([^\]]*)\]\([^)]*\)/gu, "$1")
      .replaceAll(/[`*_~#>|]+/gu, " ")
      .replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, " ")
      .replace(/^\s*(?:[-+•]|\d+[.)])\s+/u, "")
      .trim();
    if (!/[\p{L}\p{N}]/u.test(plain)) continue;
    const sentence = /^.*?[\p{L}\p{N}].*?(?=[。！？]|[.!?](?:\s|$)|$)/u.exec(plain)?.[0] ?? plain;
    return shorten(sentence.trim(), titleLength);
  }
  return undefined;
}

/** At most this many characters as a reader counts them, cut after a word if possible. */
export function shorten(text: string, length: number): string {
  if (text.length <= length) return text;
  // Only the beginning of a long text matters; a character has a few dozen code units at most.
  const characters = Array.from(segmenter.segment(text.slice(0, length * 50)), ({ segment }) => segment);
  if (characters.length <= length) return text;
  const cut = characters.slice(0, length - 1).join("");
  const space = cut.lastIndexOf(" ");
  return `${(space > length / 2 ? cut.slice(0, space) : cut).trimEnd()}…`;
}

/** Options of a readable export. Without `tools`, tool results are omitted. */
interface ReadableOptions {
  language: Language;
  tools: boolean;
}

const words = {
  en: {
    roles: { user: "User", assistant: "Assistant", system: "System", tool: "Tool" },
    reasoning: "Reasoning",
    partial: "cut off",
    attachments: "Attachments",
    operations: "Done",
    sources: "Found on the web",
    calls: "Calls",
  },
  zh: {
    roles: { user: "用户", assistant: "助手", system: "系统", tool: "工具" },
    reasoning: "思考过程",
    partial: "已中断",
    attachments: "附件",
    operations: "操作",
    sources: "联网搜索结果",
    calls: "调用",
  },
} satisfies Record<string, { roles: Record<MessageRole, string> } & Record<string, unknown>>;

/** The messages shown to readers: no system or hidden ones, tool results only on request. */
function shown(messages: readonly BaseMessage[], { tools }: ReadableOptions): BaseMessage[] {
  return messages.filter((message) => !isHidden(message) && (tools || roleOf(message) !== "tool"));
}

/** A conversation as plain text: `[role] time`, then the text. */
export function toText(name: string, messages: readonly BaseMessage[], options: ReadableOptions): string {
  const parts = shown(messages, options).map((message) => {
    const { timestamp } = readExtras(message);
    const time = timestamp === null ? "" : ` ${timestamp}`;
    return [`[${roleOf(message)}]${time}`, wordsOf(message), ...notes(message, options)]
      .filter((line) => line !== "")
      .join("\n");
  });
  return `${[name, ...parts].join("\n\n")}\n`;
}

/** A conversation as Markdown. Reasoning can be folded; notes are a list below the text. */
export function toMarkdown(name: string, messages: readonly BaseMessage[], options: ReadableOptions): string {
  const { roles, reasoning } = words[options.language];
  const parts = shown(messages, options).map((message) => {
    const { timestamp, reasoning_content } = readExtras(message);
    const folded =
      reasoning_content === ""
        ? ""
        : `<details><summary>${reasoning}</summary>\n\n${escapeTags(reasoning_content)}\n\n</details>`;
    const list = notes(message, options).map((note) => `- ${note}`);
    const heading = `## ${roles[roleOf(message)]}${timestamp === null ? "" : ` · ${timestamp}`}`;
    return [heading, folded, wordsOf(message), list.join("\n")].filter((part) => part !== "").join("\n\n");
  });
  return `${[`# ${name}`, ...parts].join("\n\n")}\n`;
}

/** The notes of a message besides its text: cut off, attachments, changes, calls, sources. */
function notes(message: BaseMessage, { language, tools }: ReadableOptions): string[] {
  const { partial, attachments, operations, sources, calls } = words[language];
  const extras = readExtras(message);
  const found = extras.web_search_results.flatMap(({ title, url }) =>
    [title ?? url].filter((one) => typeof one === "string"),
  );
  const made = tools && isAIMessage(message) ? (message.tool_calls ?? []) : [];
  return [
    ...(extras.is_partial ? [partialMark(partial, extras.stop_reason)] : []),
    ...listed(
      attachments,
      extras.attachments.map(({ name }) => name),
    ),
    ...listed(
      calls,
      made.map(({ name, args }) => `${name} ${JSON.stringify(args)}`),
    ),
    ...listed(operations, extras.operations),
    ...listed(sources, found),
  ];
}

function partialMark(word: string, reason: string): string {
  return reason === "" ? word : `${word} (${reason})`;
}

function listed(label: string, items: readonly string[]): string[] {
  return items.length === 0 ? [] : [`${label}: ${items.join("; ")}`];
}

/** A closing tag in the text would end the fold. */
function escapeTags(text: string): string {
  return text.replaceAll("<", "&lt;");
}
