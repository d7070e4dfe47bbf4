import type { CallbackManagerForLLMRun } from "@langchain/core/callbacks/manager";
import { AIMessage, isAIMessage, isAIMessageChunk, type AIMessageChunk } from "@langchain/core/messages";
import type { ChatGeneration, ChatGenerationChunk } from "@langchain/core/outputs";
import { isCut } from "../messages/end-reason.ts";
import { hasClosingMark } from "../resilience/watch-stream.ts";
import { createTextCallParser, type CallForm, type TextCallParser } from "./parser.ts";
import { ChunkMaker, gather, withoutText } from "./reply-chunks.ts";
import type { ListedTool } from "./tool-list.ts";
import type { ReplyPart } from "./forms/tool-use.ts";

/** What is known of how a model writes. It is learnt from its replies too, so one object belongs to one model. */
export interface WritingHabits {
  /** Absent: all. */
  forms?: ReadonlySet<CallForm>;
  /** Its replies begin in a thought and only end it, since its template has opened it (DeepSeek R1). */
  opensInThought: boolean;
}

/** What a reply is read with. */
export interface ReplyReading {
  /** Tools that may be called in the words. */
  names: readonly string[];
  /** What is known of their parameters. */
  tools: ReadonlyMap<string, ListedTool>;
  habits: WritingHabits;
}

/**
 * The reply as it streams, its calls and thoughts apart. Words are held back only while they may begin something else.
 * Each piece that was taken is told to the `manager` of the call.
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
    // What the reply ends with has to come before the mark that it is over.
    if (!isOver && hasClosingMark(chunk)) {
      isOver = true;
      const isWhole = !seen.hasCalls && !isCut({ ...chunk.generationInfo, ...chunk.message.response_metadata });
      found.push(...restOf(parser, reading, isWhole));
    }
    if (isJust(found, chunk.text)) {
      yield chunk;
      await tell(manager, chunk);
      continue;
    }
    const other = withoutText(chunk);
    for (const made of [...found.map((part) => maker.chunk(part, id)), ...(other === undefined ? [] : [other])]) {
      yield made;
      await tell(manager, made);
    }
  }
  if (isOver) return;
  for (const part of restOf(parser, reading, false)) {
    const made = maker.chunk(part, id);
    yield made;
    await tell(manager, made);
  }
}

function tell(manager: CallbackManagerForLLMRun | undefined, chunk: ChatGenerationChunk): Promise<void> | undefined {
  return manager?.handleLLMNewToken(chunk.text, undefined, undefined, undefined, undefined, { chunk });
}

/** A reply that came whole, its calls and thoughts read as `readChunks` reads them in pieces. */
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
  // The field's own type comes out as `undefined` under exactOptionalPropertyTypes, so it cannot be given to the constructor.
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
  // Only now it is known that the reply began in a thought.
  const isLearnt = !wasOpen && reading.habits.opensInThought;
  return isLearnt ? partsOf(text, reading, { reasons, isWhole }) : parts;
}

/** A reply whose thoughts come apart from its words does not begin in one. */
function parserFor({ names, habits }: ReplyReading, reasons: boolean): TextCallParser {
  const { forms, opensInThought } = habits;
  return createTextCallParser(names, {
    ...(forms === undefined ? {} : { forms }),
    opensInThought: opensInThought && !reasons,
  });
}

/**
 * What a reply ends with. A thought that never ended, of a reply that is whole, may have been the answer, so it is said
 * as well. The habits are corrected by what was seen.
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

/** Whether nothing but these words was found, so that they can stay as they came. */
function isJust(found: readonly ReplyPart[], text: string): boolean {
  const [first, ...others] = found;
  if (others.length > 0) return false;
  return first === undefined ? text === "" : first.kind === "text" && first.text === text;
}

function reasoningOf({ reasoning_content }: AIMessageChunk["additional_kwargs"]): string {
  return typeof reasoning_content === "string" ? reasoning_content : "";
}
