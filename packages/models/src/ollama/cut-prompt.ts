import { isSystemMessage, type BaseMessage } from "@langchain/core/messages";
import type { ChatGenerationChunk } from "@langchain/core/outputs";
import { z } from "zod";

/** Under this name an answer says that its model has read less than it was sent. */
const cutField = "prompt_cut";

/** Tokens that the server has read, and that were sent at the very least. */
const CutPrompt = z.object({ read: z.number(), sent_at_least: z.number() });
export type CutPrompt = z.infer<typeof CutPrompt>;

const Counts = z.object({ prompt_eval_count: z.number(), prompt_eval_cached_count: z.number().catch(0) });

/** Below this a template or an image may explain the difference. */
const worthTelling = 256;
/** No window is so small that less fills it: Ollama's own usual one had 2,048 tokens. */
const leastFilled = 1024;
const leastOf = new WeakMap<BaseMessage, number>();

/**
 * What a model has not read of its prompt, by the word of the answer itself: a server that cuts a prompt to its window does so
 * without a word, but tells how many tokens it has read. `undefined` where it has read all, as far as can be said.
 */
export function cutPrompt({ response_metadata }: Pick<BaseMessage, "response_metadata">): CutPrompt | undefined {
  const metadata: Record<string, unknown> = response_metadata;
  return CutPrompt.safeParse(metadata[cutField]).data;
}

/** Writes on the last piece of an answer what its model has not read of `messages`. */
export function noteCut({ message }: ChatGenerationChunk, messages: readonly BaseMessage[]): void {
  const counts = Counts.safeParse(message.response_metadata).data;
  if (counts === undefined) return;
  // Some versions count the cached tokens in, others do not: the larger reading is never wrongly a cut.
  const read = counts.prompt_eval_count + counts.prompt_eval_cached_count;
  const sent_at_least = leastTokensIn(messages);
  if (sent_at_least - read < worthTelling) return;
  // What cuts fills its window, or leaves the system text and the newest message. Fewer are counted by servers that
  // leave out what they had cached.
  const always = messages.filter((message, index) => isSystemMessage(message) || index === messages.length - 1);
  if (read < leastFilled && leastTokensIn(always) > read) return;
  message.response_metadata = { ...message.response_metadata, [cutField]: { read, sent_at_least } satisfies CutPrompt };
}

/**
 * Tokens that a text has at the very least, with any tokenizer: none joins words, so every run of letters or digits is one; of
 * Chinese, Japanese and Korean three characters are. An estimate of the usual number would call many whole prompts cut.
 */
export function leastTokensOf(text: string): number {
  let words = 0;
  let wide = 0;
  let before = other;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    const kind = kindOf(code);
    if (code >= firstWide) wide += 1;
    else if (kind !== other && kind !== before) words += 1;
    before = kind;
  }
  return words + Math.floor(wide / 3);
}

const other = 0;
const digit = 1;
const letter = 2;
/** Where the characters of East Asia begin; what is between them and ASCII has letters and signs, taken as letters. */
const firstWide = 0x2e80;
const firstBeyondAscii = 0x80;

function kindOf(code: number): number {
  if (code >= firstWide) return other;
  if (code >= firstBeyondAscii) return letter;
  if (code >= 48 && code <= 57) return digit;
  // With this bit set, capitals are small.
  const small = code | 0x20;
  return small >= 97 && small <= 122 ? letter : other;
}

function leastTokensIn(messages: readonly BaseMessage[]): number {
  return messages.reduce((sum, message) => sum + leastTokens(message), 0);
}

function leastTokens(message: BaseMessage): number {
  const known = leastOf.get(message) ?? leastTokensOf(message.text);
  leastOf.set(message, known);
  return known;
}
