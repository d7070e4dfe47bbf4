/** Where providers say why an answer ended: OpenAI and its like, and Ollama. */
export const endReasonKeys = ["finish_reason", "done_reason"];
/** What they say when the answer reached the length limit. */
const cutReasons: unknown[] = ["length", "max_tokens"];

/** Whether what a provider said of an answer is that it ended at the length limit. */
export function isCut(metadata: Record<string, unknown>): boolean {
  return endReasonKeys.some((key) => cutReasons.includes(metadata[key]));
}
