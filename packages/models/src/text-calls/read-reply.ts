import type { CallbackManagerForLLMRun } from "@langchain/core/callbacks/manager";
import { AIMessage, isAIMessage, isAIMessageChunk, type AIMessageChunk } from "@langchain/core/messages";
import type { ChatGeneration, ChatGenerationChunk } from "@langchain/core/outputs";
import { isCut } from "../messages/end-reason.ts";
import { hasClosingMark } from "../resilience/watch-stream.ts";
import { createTextCallParser, type CallForm, type TextCallParser } from "./parser.ts";
import { ChunkMaker, gather, withoutText } from "./reply-chunks.ts";
import type { ListedTool } from "./tool-list.ts";
import type { ReplyPart } from "./forms/tool-use.ts";

/** How a model writes. It is also learned from its replies, so each model needs its own object. */
export interface WritingHabits {
  /** Absent: all. */
  forms?: ReadonlySet<CallForm>;
  /** Its replies begin in reasoning and only close it, since its template opens it (DeepSeek R1). */
  opensInThought: boolean;
}

/** The context for reading a reply. */
export interface ReplyReading {
  /** Tools that may be called in the text. */
  names: readonly string[];
  /** Their known parameters. */
  tools: ReadonlyMap<string, ListedTool>;
  habits: WritingHabits;
}

/**
 * Separates calls and reasoning of a streamed reply. Text is held back only while it may become something else. Each
 * consumed chunk is reported to the call's `manager`.
 */
export async function* readChunks(
  chunks: AsyncIterable<ChatGenerationChunk>,
  reading: ReplyReading,
  manager?: CallbackManagerForLLMRun,
): AsyncGenerator<ChatGenerationChunk> {
  const maker = new ChunkMaker(reading.tools);
  const seen = { reasons: false, hasCalls: false };
  let parser: TextCallParser | undefined;
  let id: string | undefined;
  let isOver = false;
  for await (const chunk of chunks) {
    id ??= chunk.message.id;
    seen.reasons ||= reasoningOf(chunk.message.additional_kwargs) !== "";
    seen.hasCalls ||= isAIMessageChunk(chunk.message) && (chunk.message.tool_call_chunks ?? []).length > 0;
    if (chunk.text !== "") parser ??= parserFor(reading, seen.reasons);
    const found = parser?.push(chunk.text) ?? [];
    seen.hasCalls ||= found.some(({ kind }) => kind === "use" || kind === "problem");
    // The remaining parts must precede the closing mark.
    if (!isOver && hasClosingMark(chunk)) {
      isOver = true;
      const isWhole = !seen.hasCalls && !isCut({ ...chunk.generationInfo, ...chunk.message.response_metadata });
      found.push(...restOf(parser, reading, isWhole));
    }
    if (isJust(found, chunk.text)) {
      yield chunk;
      await report(manager, chunk);
      continue;
    }
    const other = withoutText(chunk);
    for (const made of [...found.map((part) => maker.chunk(part, id)), ...(other === undefined ? [] : [other])]) {
      yield made;
      await report(manager, made);
    }
  }
  if (isOver) return;
  for (const part of restOf(parser, reading, false)) {
    const made = maker.chunk(part, id);
    yield made;
    await report(manager, made);
  }
}

function report(manager: CallbackManagerForLLMRun | undefined, chunk: ChatGenerationChunk): Promise<void> | undefined {
  return manager?.handleLLMNewToken(chunk.text, undefined, undefined, undefined, undefined, { chunk });
}

/** Like `readChunks`, for an unstreamed reply. */
export function readWhole(generation: ChatGeneration, reading: ReplyReading): ChatGeneration {
  const { message } = generation;
  if (!isAIMessage(message)) return generation;
  const { additional_kwargs, response_metadata, usage_metadata, tool_calls = [], invalid_tool_calls = [] } = message;
  const known = reasoningOf(additional_kwargs);
  const hasCalls = tool_calls.length + invalid_tool_calls.length > 0;
  const isWhole = !hasCalls && !isCut({ ...generation.generationInfo, ...response_metadata });
  const found = gather(partsOf(message.text, reading, { reasons: known !== "", isWhole }), reading.tools);
  const reasoning = `${known}${found.reasoning}`;
  const read = new AIMessage({
    ...(message.id === undefined ? {} : { id: message.id }),
    content: found.content,
    additional_kwargs: { ...additional_kwargs, ...(reasoning === "" ? {} : { reasoning_content: reasoning }) },
    response_metadata,
    tool_calls: [...tool_calls, ...found.calls],
    invalid_tool_calls: [
      ...invalid_tool_calls,
      ...found.broken.map((call) => ({ ...call, type: "invalid_tool_call" as const })),
    ],
  });
  // Under exactOptionalPropertyTypes the field's own type includes `undefined`, which the constructor rejects.
  const whole = usage_metadata === undefined ? read : Object.assign(read, { usage_metadata });
  return { ...generation, text: found.content, message: whole };
}

function partsOf(
  text: string,
  reading: ReplyReading,
  { reasons, isWhole }: { reasons: boolean; isWhole: boolean },
): ReplyPart[] {
  const parser = parserFor(reading, reasons);
  const wasOpen = reading.habits.opensInThought;
  const parts = parser.push(text);
  const hasCalls = parts.some(({ kind }) => kind === "use" || kind === "problem");
  parts.push(...restOf(parser, reading, isWhole && !hasCalls));
  // Only now it is known that the reply began in reasoning.
  const isLearnt = !wasOpen && reading.habits.opensInThought;
  return isLearnt ? partsOf(text, reading, { reasons, isWhole }) : parts;
}

/** A reply with separate reasoning does not begin in one. */
function parserFor({ names, habits }: ReplyReading, reasons: boolean): TextCallParser {
  const { forms, opensInThought } = habits;
  return createTextCallParser(names, {
    ...(forms === undefined ? {} : { forms }),
    opensInThought: opensInThought && !reasons,
  });
}

/**
 * The end of a reply. Unclosed reasoning in a complete reply may have been the answer, so it is also emitted as text.
 * Updates the habits with what was observed.
 */
function restOf(parser: TextCallParser | undefined, { habits }: ReplyReading, isWhole: boolean): ReplyPart[] {
  if (parser === undefined) return [];
  const parts = parser.end();
  const { hasStrayEnd, unended } = parser.signs;
  if (hasStrayEnd) habits.opensInThought = true;
  if (unended === undefined || unended.trim() === "" || !isWhole) return parts;
  habits.opensInThought = false;
  return [...parts, { kind: "text", text: unended }];
}

/** Whether only this text was found, so that the chunk can stay unchanged. */
function isJust(found: readonly ReplyPart[], text: string): boolean {
  const [first, ...others] = found;
  if (others.length > 0) return false;
  return first === undefined ? text === "" : first.kind === "text" && first.text === text;
}

function reasoningOf({ reasoning_content }: AIMessageChunk["additional_kwargs"]): string {
  return typeof reasoning_content === "string" ? reasoning_content : "";
}
