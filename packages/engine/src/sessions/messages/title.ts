import type { BaseMessage } from "@langchain/core/messages";
import { z } from "zod";
import { isHumanMessage, textOf } from "../../message-kinds.ts";
import type { Session } from "../../storage/records.ts";

/** Characters a title by the rule has at most. */
const titleLength = 40;
/** Characters a name that somebody gives may have. */
const nameLength = 200;

const segmenter = new Intl.Segmenter();

/** The name of a session as somebody gives it: one line, not empty. */
export const SessionName = z
  .string()
  .trim()
  .min(1)
  .max(nameLength)
  .refine((name) => !/\p{Cc}/u.test(name), { error: "a name is one line without control characters" });

/** Where the name of a session comes from: somebody gave it, the model or the rule made it, or there is nothing said yet. */
export const NameSource = z.enum(["given", "model", "first_message", "default"]);
type NameSource = z.infer<typeof NameSource>;

/** A session's name and where it comes from. */
export interface NamedBy {
  name: string;
  source: NameSource;
}

/**
 * What a session is called: its `metadata.name`, else the title that a model gave it, else one by rule from the first
 * thing the user said, else `Chat YYYY-MM-DD HH:mm` (UTC).
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
 * A title by rule: the first sentence of the first line with words, without marks of formatting, cut between words.
 * `undefined` for a text without a letter or a digit.
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

/** At most so many characters as a reader counts them, cut after a word where there are words. */
export function shorten(text: string, length: number): string {
  if (text.length <= length) return text;
  // Of a long text only the beginning matters; a character is written with few dozen units at most.
  const characters = Array.from(segmenter.segment(text.slice(0, length * 50)), ({ segment }) => segment);
  if (characters.length <= length) return text;
  const cut = characters.slice(0, length - 1).join("");
  const space = cut.lastIndexOf(" ");
  return `${(space > length / 2 ? cut.slice(0, space) : cut).trimEnd()}…`;
}
