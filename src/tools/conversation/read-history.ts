import { isAIMessage, isHumanMessage, type BaseMessage } from "@langchain/core/messages";
import { setImmediate as nextTurn } from "node:timers/promises";
import { z } from "zod";
import { failure, resultText, success, type ToolResult } from "../runtime/result.ts";
import { defineTool, type SessionHistory } from "../runtime/tool.ts";

/** Characters per call, below the limit of a result. */
const shownLength = 4000;
/** Matches shown per search, and characters around each. */
const maxMatches = 10;
const aroundLength = 150;
/** Cut results that a search reads in full, newest first, and their total characters. */
const maxResults = 50;
const maxCharacters = 10_000_000;
/** Messages searched before yielding to the event loop. */
const messagesPerStep = 200;

const Input = z.object({
  query: z.string().trim().min(1).max(200).optional().describe("words to look for; all of them must be there"),
  message_id: z.string().min(1).max(200).optional().describe("one message, by the id that a search has shown"),
  result_id: z.string().min(1).max(300).optional().describe("the whole result of a call, by the id in its cut result"),
  first: z.number().int().min(1).optional().describe("messages from this number on; 1 is the oldest"),
  last: z.number().int().min(1).optional().describe("and up to this one"),
  offset: z.number().int().min(0).default(0).describe("characters of a message or a result to pass over"),
});

type Input = z.infer<typeof Input>;

/** The reference in the message of a cut result. */
const CutResult = z.object({ id: z.string(), characters: z.number() });

/** Reads what the view hides: summarised messages and the full text of cut results. */
export const readHistory = defineTool({
  name: "read_history",
  description:
    "Reads earlier parts of this conversation that are not shown any more, and the whole of a tool's result that was cut. " +
    "Give one of: query (looks through all earlier messages and cut results, newest first; with result_id through that result), message_id, " +
    `result_id, or first and last (numbers of messages). It shows up to ${shownLength} characters; offset reads on.`,
  schema: Input,
  effect: "pure",
  offered: { onlyWhenHistoryCut: true },
  run: async (input, { conversation: { history }, signal }) => {
    if (history === undefined) return failure("unavailable_tool_mode", "There is no conversation to read here.");
    return await read(input, history, signal);
  },
  example: { title: "A fact from long ago", body: '{"query": "budget 2019"}' },
});

async function read(input: Input, history: SessionHistory, signal: AbortSignal): Promise<ToolResult> {
  const { query, message_id, result_id, first, last, offset } = input;
  const { messages } = history;
  if (result_id !== undefined) {
    const result = await history.result(result_id);
    if (result === undefined)
      return failure("not_found", `This conversation keeps no result with the id "${result_id}".`);
    const text = resultText(result);
    return query === undefined ? part(text, offset, `the result ${result_id}`) : placesIn(text, query, result_id);
  }
  if (query !== undefined) return await search(history, query, signal);
  if (message_id !== undefined) {
    const index = messages.findLastIndex(({ id }) => id === message_id);
    const message = messages[index];
    if (message === undefined) return failure("not_found", `There is no earlier message with the id "${message_id}".`);
    return part(wordsOf(message), offset, headOf(message, index));
  }
  if (first === undefined && last === undefined) {
    return failure("missing_parameter", "Expected one of query, message_id, result_id, or first and last; none came.");
  }
  return range(messages, first ?? 1, last ?? messages.length);
}

function part(text: string, offset: number, what: string): ToolResult {
  const shown = text.slice(offset, offset + shownLength).toWellFormed();
  const end = offset + shown.length;
  const more = end < text.length ? ` More follows: offset ${end}.` : "";
  const message = `Characters ${Math.min(offset, text.length)} to ${end} of ${text.length} of ${what}.${more}`;
  const message_zh = `已查看之前的内容：共 ${text.length} 个字符，显示第 ${Math.min(offset, text.length)}–${end} 个。`;
  return success(message, { content: `${message}\n${shown}`, message_zh });
}

function range(messages: readonly BaseMessage[], first: number, last: number): ToolResult {
  if (first > messages.length || last < first) {
    return failure(
      "invalid_parameter",
      `There are ${messages.length} earlier messages; ${first} to ${last} are none of them.`,
    );
  }
  const lines: string[] = [];
  let room = shownLength;
  let index = first - 1;
  for (; index < Math.min(last, messages.length); index += 1) {
    const message = messages[index];
    if (message === undefined) break;
    const text = `${headOf(message, index)}\n${wordsOf(message)}`;
    if (text.length > room && lines.length > 0) break;
    lines.push(text.slice(0, room).toWellFormed());
    room -= text.length;
  }
  const more = index < Math.min(last, messages.length) ? ` More follow: first ${index + 1}.` : "";
  const message = `Messages ${first} to ${index} of ${messages.length}.${more}`;
  const message_zh = `已查看第 ${first}–${index} 条消息，共 ${messages.length} 条。`;
  return success(message, { content: [message, ...lines].join("\n\n"), message_zh });
}

/** Searches messages newest first for all words. The hidden part of the newest cut results is searched too. */
async function search(history: SessionHistory, query: string, signal: AbortSignal): Promise<ToolResult> {
  const { messages } = history;
  const words = wordsIn(query);
  const found: string[] = [];
  let hits = 0;
  let room = { results: maxResults, characters: maxCharacters };
  for (let index = messages.length - 1; index >= 0; index -= 1) {
    if (index % messagesPerStep === 0) {
      await nextTurn();
      signal.throwIfAborted();
    }
    const message = messages[index];
    if (message === undefined) continue;
    const text = wordsOf(message);
    const place = placeOf(text.toLowerCase(), words);
    const match = place === -1 ? undefined : around(text, place);
    const cut = match === undefined ? cutResultOf(message) : undefined;
    const inside = cut === undefined ? undefined : await lookInside(cut, room, words, history);
    room = inside?.room ?? room;
    const hit = match ?? inside?.match;
    if (hit === undefined) continue;
    hits += 1;
    if (found.length < maxMatches) found.push(`${headOf(message, index)}\n${hit}`);
  }
  if (hits === 0) {
    return success(`None of the ${messages.length} earlier messages holds all of: ${words.join(", ")}.`, {
      message_zh: `之前的 ${messages.length} 条消息中没有相符的内容。`,
    });
  }
  const message = `${hits} of ${messages.length} earlier messages match${hits > found.length ? `; the newest ${found.length}` : ""}.`;
  return success(message, {
    content: [message, ...found].join("\n\n").slice(0, shownLength).toWellFormed(),
    message_zh: `之前的 ${messages.length} 条消息中有 ${hits} 条相符。`,
  });
}

/** Remaining budget for reading cut results in one search. */
interface Room {
  results: number;
  characters: number;
}

/** Searches the full text of a cut result within the budget. */
async function lookInside(
  cut: z.infer<typeof CutResult>,
  room: Room,
  words: readonly string[],
  history: SessionHistory,
): Promise<{ room: Room; match: string | undefined }> {
  if (room.results === 0 || cut.characters > room.characters) return { room, match: undefined };
  const result = await history.result(cut.id);
  const text = result === undefined ? "" : resultText(result);
  const place = bestPlace(text.toLowerCase(), words);
  const match = `In what its result does not show, result_id "${cut.id}", offset ${place}: ${around(text, place)}`;
  return {
    room: { results: room.results - 1, characters: room.characters - text.length },
    match: place === -1 ? undefined : match,
  };
}

function cutResultOf(message: BaseMessage): z.infer<typeof CutResult> | undefined {
  return CutResult.safeParse(message.additional_kwargs["whole_result"]).data;
}

/** The first lines that contain all words, and the number of such lines. */
function placesIn(text: string, query: string, what: string): ToolResult {
  const words = wordsIn(query);
  const places: string[] = [];
  let hits = 0;
  let begin = 0;
  for (const line of text.split("\n")) {
    const place = placeOf(line.toLowerCase(), words);
    if (place !== -1) hits += 1;
    if (place !== -1 && hits <= maxMatches) places.push(`At offset ${begin + place}: ${around(line, place)}`);
    begin += line.length + 1;
  }
  if (hits === 0) {
    return success(`No line of the result ${what} holds all of: ${words.join(", ")}.`, {
      message_zh: "这份结果中没有相符的行。",
    });
  }
  const message = `Lines of the result ${what} that match: ${hits}${hits > places.length ? `; the first ${places.length}` : ""}.`;
  return success(message, {
    content: [message, ...places].join("\n").slice(0, shownLength).toWellFormed(),
    message_zh: `这份结果中有 ${hits} 行相符。`,
  });
}

function wordsIn(query: string): string[] {
  return query.toLowerCase().split(/\s+/u);
}

/** Index of the first word; -1 unless all are present. */
function placeOf(text: string, words: readonly string[]): number {
  return words.every((word) => text.includes(word)) ? text.indexOf(words[0] ?? "") : -1;
}

/** The same, preferring the first line that contains all words. */
function bestPlace(text: string, words: readonly string[]): number {
  const anywhere = placeOf(text, words);
  let begin = 0;
  for (const line of anywhere === -1 ? [] : text.split("\n")) {
    const place = placeOf(line, words);
    if (place !== -1) return begin + place;
    begin += line.length + 1;
  }
  return anywhere;
}

function around(text: string, place: number): string {
  const begin = Math.max(0, place - aroundLength);
  const end = Math.min(text.length, place + aroundLength);
  return `${begin > 0 ? "…" : ""}${text.slice(begin, end).toWellFormed()}${end < text.length ? "…" : ""}`;
}

function headOf(message: BaseMessage, index: number): string {
  const who = isHumanMessage(message)
    ? "user"
    : isAIMessage(message)
      ? "assistant"
      : (message.name ?? message.getType());
  return `[message ${index + 1}, ${who}, id ${message.id ?? "none"}]`;
}

function wordsOf(message: BaseMessage): string {
  const calls = isAIMessage(message) ? (message.tool_calls ?? []) : [];
  return [message.text, ...calls.map(({ name, args }) => `calls ${name} ${JSON.stringify(args)}`)]
    .filter((text) => text !== "")
    .join("\n");
}
