/** Metadata keys for the finish reason: OpenAI's and Ollama's. */
export const endReasonKeys = ["finish_reason", "done_reason"];
/** Values for the length limit. */
const cutReasons: unknown[] = ["length", "max_tokens"];

/** Whether the finish reason is the length limit. */
export function isCut(metadata: Record<string, unknown>): boolean {
  return endReasonKeys.some((key) => cutReasons.includes(metadata[key]));
}
