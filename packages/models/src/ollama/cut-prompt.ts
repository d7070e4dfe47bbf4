import { isSystemMessage, type BaseMessage } from "@langchain/core/messages";
import type { ChatGenerationChunk } from "@langchain/core/outputs";
import { z } from "zod";

/** Metadata key for a prompt that was cut. */
const cutField = "prompt_cut";

/** Tokens read by the server, and the minimum sent. */
const CutPrompt = z.object({ read: z.number(), sent_at_least: z.number() });
export type CutPrompt = z.infer<typeof CutPrompt>;

const Counts = z.object({ prompt_eval_count: z.number(), prompt_eval_cached_count: z.number().catch(0) });

/** Smaller differences may come from a template or an image. */
const worthTelling = 256;
/** No window is smaller: Ollama's old default was 2,048 tokens. */
const minWindowTokens = 1024;
const leastOf = new WeakMap<BaseMessage, number>();

/**
 * Whether the server cut the prompt: Ollama cuts silently to its window but reports the tokens it read. `undefined` if
 * everything was read, as far as known.
 */
export function cutPrompt({ response_metadata }: Pick<BaseMessage, "response_metadata">): CutPrompt | undefined {
  const metadata: Record<string, unknown> = response_metadata;
  return cutField in metadata ? CutPrompt.safeParse(metadata[cutField]).data : undefined;
}

/** Marks the last chunk if the model did not read all of `messages`. */
export function markCut({ message }: ChatGenerationChunk, messages: readonly BaseMessage[]): void {
  const counts = Counts.safeParse(message.response_metadata).data;
  if (counts === undefined) return;
  // Some versions include cached tokens; the larger value never wrongly indicates a cut.
  const read = counts.prompt_eval_count + counts.prompt_eval_cached_count;
  const sent_at_least = leastTokensIn(messages);
  if (sent_at_least - read < worthTelling) return;
  // A cutting server fills its window, or keeps the system text and newest message. Servers that omit cached tokens
  // report fewer.
  const always = messages.filter((message, index) => isSystemMessage(message) || index === messages.length - 1);
  if (read < minWindowTokens && leastTokensIn(always) > read) return;
  message.response_metadata = { ...message.response_metadata, [cutField]: { read, sent_at_least } satisfies CutPrompt };
}

/**
 * A lower bound of a text's tokens for any tokenizer: each run of letters or digits is at least one, as are three CJK
 * characters. A usual estimate would report many complete prompts as cut.
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
/** First code point of East Asian characters; those between them and ASCII are treated as letters. */
const firstWide = 0x2e80;
const firstBeyondAscii = 0x80;

function kindOf(code: number): number {
  if (code >= firstWide) return other;
  if (code >= firstBeyondAscii) return letter;
  if (code >= 48 && code <= 57) return digit;
  // Setting this bit converts capitals to lower case.
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
