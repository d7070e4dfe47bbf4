import type { BaseMessage } from "@langchain/core/messages";
import { z } from "zod";
import { MessageRole, roleOf, wordsOf } from "@millrace/engine/sessions/messages/message-fields";
import { isHidden } from "@millrace/engine/sessions/messages/stored-message";

/** Characters shown on each side of what was found. */
const around = 40;

/** Where a text was found in a message, with the words around it. */
export const Hit = z.object({
  message_id: z.string().nullable(),
  role: MessageRole,
  before: z.string(),
  match: z.string(),
  after: z.string(),
});
export type Hit = z.infer<typeof Hit>;

/** Normalizes text for comparison: case and Unicode form. */
export function folded(text: string): string {
  return text.normalize("NFKC").toLowerCase();
}

/** The newest messages that hold a text, which is `folded`: the newest first, at most so many. */
export function newestHits(messages: readonly BaseMessage[], wanted: string, limit: number): Hit[] {
  const hits: Hit[] = [];
  for (const message of messages.toReversed()) {
    if (hits.length === limit) break;
    if (isHidden(message)) continue;
    const hit = hitOf(wordsOf(message), wanted);
    if (hit !== undefined) hits.push({ message_id: message.id ?? null, role: roleOf(message), ...hit });
  }
  return hits;
}

/** The first place of a text in some words. Folding may change lengths, so that a place is counted in whole characters. */
function hitOf(words: string, wanted: string): Pick<Hit, "before" | "match" | "after"> | undefined {
  const whole = folded(words);
  const at = whole.indexOf(wanted);
  if (at === -1) return undefined;
  if (whole.length === words.length) return cutOut(words, at, at + wanted.length);
  const ends: number[] = [];
  const characters = Array.from(words);
  let length = 0;
  for (const character of characters) ends.push((length += folded(character).length));
  const from = ends.findIndex((end) => end > at);
  const to = ends.findIndex((end) => end >= at + wanted.length);
  const place = (count: number): number => characters.slice(0, count).join("").length;
  return cutOut(words, place(Math.max(0, from)), to === -1 ? words.length : place(to + 1));
}

function cutOut(words: string, from: number, to: number): Pick<Hit, "before" | "match" | "after"> {
  const plain = (text: string): string => text.toWellFormed().replaceAll(/\s+/gu, " ");
  return {
    before: plain(words.slice(Math.max(0, from - around), from)),
    match: words.slice(from, to),
    after: plain(words.slice(to, to + around)),
  };
}
