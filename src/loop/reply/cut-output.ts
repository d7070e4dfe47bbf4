import { AIMessageChunk, isAIMessageChunk } from "@langchain/core/messages";
import { ChatGenerationChunk } from "@langchain/core/outputs";
import { endReasonKeys, isCut } from "@millrace/models/messages/end-reason";

/** Whether this chunk marks the answer as cut off. */
export function isCutMark(chunk: ChatGenerationChunk): boolean {
  return isCut({ ...chunk.generationInfo, ...chunk.message.response_metadata });
}

/**
 * The chunk as part of message `id` with other text; `unmarked` removes the mark that it was cut off. A remaining mark
 * goes on the message, since some clients keep it elsewhere.
 */
export function asPart(
  chunk: ChatGenerationChunk,
  { id, text, unmarked }: { id: string | undefined; text: string; unmarked: boolean },
): ChatGenerationChunk {
  const { message } = chunk;
  const clean = (info: Record<string, unknown> | undefined): Record<string, unknown> =>
    unmarked ? unmark(info) : (info ?? {});
  const isChunk = isAIMessageChunk(message);
  return new ChatGenerationChunk({
    text,
    message: new AIMessageChunk({
      ...(id === undefined ? {} : { id }),
      content: text,
      additional_kwargs: message.additional_kwargs,
      response_metadata:
        !unmarked && isCutMark(chunk)
          ? { ...chunk.generationInfo, ...message.response_metadata }
          : clean(message.response_metadata),
      ...(isChunk && message.tool_call_chunks !== undefined ? { tool_call_chunks: message.tool_call_chunks } : {}),
      ...(isChunk && message.usage_metadata !== undefined ? { usage_metadata: message.usage_metadata } : {}),
    }),
    generationInfo: clean(chunk.generationInfo),
  });
}

function unmark(info: Record<string, unknown> = {}): Record<string, unknown> {
  return Object.fromEntries(Object.entries(info).filter(([key]) => !endReasonKeys.includes(key)));
}

/** A final chunk that marks an answer as cut off. */
export function cutEnd(id: string | undefined): ChatGenerationChunk {
  const info = { finish_reason: "length" };
  const message = new AIMessageChunk({ ...(id === undefined ? {} : { id }), content: "", response_metadata: info });
  return new ChatGenerationChunk({ text: "", message, generationInfo: info });
}

/**
 * Raw arguments of calls that are not complete JSON, by call id. If calls share an id, one broken call marks all of
 * them.
 */
export function brokenArgumentsOf(answer: AIMessageChunk): Map<string, string> {
  const calls = new Map<string, { id: string; text: string }>();
  // Only streamed messages have chunks.
  for (const piece of answer.tool_call_chunks ?? []) {
    const place = String(piece.index ?? piece.id);
    const call = calls.get(place) ?? { id: piece.id ?? "", text: "" };
    calls.set(place, { id: call.id, text: call.text + (piece.args ?? "") });
  }
  const broken = [...calls.values()].filter(({ text }) => text.trim() !== "" && !isJson(text));
  return new Map(broken.map(({ id, text }) => [id, text]));
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
