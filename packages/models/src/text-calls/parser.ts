import { LRUCache } from "lru-cache";
import { envelopes, readEnvelope, readTagged } from "./forms/call-block.ts";
import type { CallReading } from "./call-reading.ts";
import { CodeMarks } from "./code-marks.ts";
import { Cursor, type Reading } from "./cursor.ts";
import { readDeepSeekCalls } from "./forms/deepseek-call.ts";
import { readDsmlCalls } from "./forms/dsml-call.ts";
import { readJsonCall } from "./forms/json-call.ts";
import { readLiteral } from "./forms/literal.ts";
import { readMistralCalls } from "./forms/mistral-call.ts";
import { readSpace, readTag, tagNames, type Tag, type TagNames } from "./forms/tag.ts";
import {
  endOfThought,
  readMistralThought,
  readOpenThought,
  readThought,
  thinking,
  type ThoughtSigns,
} from "./thought.ts";
import { PartList, type ReplyPart } from "./forms/tool-use.ts";

/** Parses one reply. The result does not depend on chunk boundaries. */
export interface TextCallParser {
  /** Parses the next chunk; returns the parts known by now. */
  push(text: string): ReplyPart[];
  /** Ends the reply; returns the remaining parts. */
  end(): ReplyPart[];
  /** Observations outside the parts. */
  readonly signs: Readonly<ThoughtSigns>;
}

/**
 * A format of calls in text: `written`, all those of models without native calls; `tool_call`, the tag of Hermes, Qwen
 * and GLM; and the marks of DeepSeek and Mistral, including those of reasoning.
 */
export type CallForm = "written" | "tool_call" | "deepseek" | "mistral";

/** Options of the parser. */
export interface ParserOptions {
  /** Absent: all formats. With `written` a call may have any name, else only a tool's. */
  forms?: ReadonlySet<CallForm>;
  /** The reply begins with reasoning, opened by the model's template. */
  opensInThought?: boolean;
}

interface Reader extends CallReading {
  forms: ReadonlySet<CallForm>;
  names: TagNames;
  code: CodeMarks;
  /** Patterns, by position, for where something other than text may begin or end. */
  marks: Readonly<Record<CodeMarks["place"], RegExp>>;
  signs: ThoughtSigns;
  say: (text: string) => void;
}

const allForms: ReadonlySet<CallForm> = new Set(["written", "tool_call", "deepseek", "mistral"]);
/** White space after a call or reasoning belongs to it, up to this limit. */
const maxGapLength = 100;

/**
 * A parser for replies with calls as text: `<tool_use><invoke name="…">`, the tags of the tools in `toolNames`, JSON,
 * and the formats of models whose server leaves calls in the text. Separates text, reasoning and calls. A call in a
 * code block or backticks is an example, not a call. Runs in linear time, and keeps at most the current call, and
 * reasoning that may be text.
 */
export function createTextCallParser(toolNames: readonly string[], options: ParserOptions = {}): TextCallParser {
  const { forms = allForms, opensInThought = false } = options;
  const reader = readerOf(toolNames, forms);
  const { cursor, parts, signs } = reader;
  const reply = readReply(reader, opensInThought);
  const readOn = (): ReplyPart[] => {
    reply.next();
    return parts.take();
  };
  // Runs up to its first wait.
  reply.next();
  return {
    signs,
    push(text) {
      if (text === "") return [];
      cursor.feed(text);
      return readOn();
    },
    end() {
      cursor.end();
      return readOn();
    },
  };
}

function readerOf(toolNames: readonly string[], forms: ReadonlySet<CallForm>): Reader {
  const parts = new PartList();
  const code = new CodeMarks();
  return {
    ...vocabularyOf(toolNames, forms),
    cursor: new Cursor(),
    parts,
    code,
    forms,
    tools: toolNames,
    signs: { hasStrayEnd: false, unended: undefined },
    say(text) {
      code.pass(text);
      parts.say("text", text);
    },
  };
}

/** The patterns for these tools and formats. Replies can share them, since each search sets `lastIndex` first. */
type Vocabulary = Pick<Reader, "isTool" | "mayName" | "names" | "marks">;

/** A server has few lists of tools, and uses the same in each call. */
const vocabularies = new LRUCache<string, Vocabulary>({ max: 100 });

function vocabularyOf(toolNames: readonly string[], forms: ReadonlySet<CallForm>): Vocabulary {
  const key = `${[...forms].join(" ")}\n${toolNames.join(" ")}`;
  const made = vocabularies.get(key) ?? makeVocabulary(toolNames, forms);
  vocabularies.set(key, made);
  return made;
}

function makeVocabulary(toolNames: readonly string[], forms: ReadonlySet<CallForm>): Vocabulary {
  const known = new Set(toolNames);
  const isTool = (name: string): boolean => known.has(name);
  const calls = forms.has("written")
    ? [...envelopes, "invoke", "function", ...toolNames]
    : forms.has("tool_call")
      ? ["tool_call"]
      : [];
  const tags = [...thinking, endOfThought, ...calls];
  return {
    isTool,
    mayName: forms.has("written") ? () => true : isTool,
    names: tagNames(tags),
    marks: { prose: proseMarks(tags, forms), line: /[`~\n]/g, fence: /[`~]/g },
  };
}

/**
 * Where something other than prose may begin: a tag by its name's first letter, DeepSeek's marks by a bar, JSON by a
 * quotation mark; at the end of a chunk it is not known yet. Fewer positions make long replies faster.
 */
function proseMarks(tags: readonly string[], forms: ReadonlySet<CallForm>): RegExp {
  const letters = [...new Set(tags.map((tag) => tag.charAt(0)).filter((letter) => /\w/.test(letter)))].join("");
  const bars = forms.has("deepseek") ? "|[｜|](?:[tD]|[｜|](?:D|$)|$)" : "";
  const json = forms.has("written") ? `|\\{(?=[\\s"']|$)` : "";
  const brackets = forms.has("mistral") ? "|\\[(?=T(?:[OH]|$)|$)" : "";
  return new RegExp(`<(?=[${letters}]|/(?:t|$)${bars}|$)${json}${brackets}|[\`~]`, "g");
}

function* readReply(reader: Reader, opensInThought: boolean): Reading<void> {
  const { cursor, parts, code, forms, marks, say } = reader;
  if (opensInThought) yield* readOpenThought(reader);
  for (;;) {
    while (cursor.mustWait) yield;
    if (cursor.isAtEnd) return;
    say(cursor.takeUntil(marks[code.place]));
    while (cursor.mustWait) yield;
    const { char } = cursor;
    if (char === "`" || char === "~") {
      yield* passRun(cursor, char, code, parts);
    } else if (code.place !== "prose" || !(yield* readMarked(reader, char, forms))) {
      say(cursor.char);
      cursor.skip();
    }
  }
}

/** Parses what a mark may begin; false, consuming nothing, if it begins nothing relevant. */
function* readMarked(reader: Reader, char: string, forms: ReadonlySet<CallForm>): Reading<boolean> {
  const { cursor, say } = reader;
  if (char === "{" && forms.has("written")) {
    yield* after(cursor, yield* readJsonCall(reader, reader.isTool), say);
  } else if (char === "[" && forms.has("mistral")) {
    yield* after(cursor, yield* readMistral(reader), say);
  } else if (char === "<") {
    cursor.skip();
    while (cursor.mustWait) yield;
    const isMark = cursor.char === "｜" || cursor.char === "|";
    cursor.unread("<");
    if (!isMark) yield* readAtTag(reader);
    else if (forms.has("deepseek")) yield* after(cursor, yield* readDeepSeek(reader), say);
    else return false;
  } else return false;
  return true;
}

/** Parses calls or reasoning of Mistral's models, which differ in the third character. */
function* readMistral(reader: Reader): Reading<string | undefined> {
  const opening = yield* readLiteral(reader.cursor, "[TH");
  reader.cursor.unread(opening);
  return yield* opening === "[TH" ? readMistralThought(reader, reader.code.isLineStart) : readMistralCalls(reader);
}

/** Parses DeepSeek's calls: its special tokens, or its markup, which has another letter after the bars. */
function* readDeepSeek(reader: Reader): Reading<string | undefined> {
  const { cursor } = reader;
  let opening = "";
  while (opening === "" || (/[｜|]/.test(cursor.char) && opening.length < 3)) {
    opening += cursor.char;
    cursor.skip();
    while (cursor.mustWait) yield;
  }
  const isMarkup = cursor.char === "D";
  cursor.unread(opening);
  return yield* isMarkup ? readDsmlCalls(reader) : readDeepSeekCalls(reader);
}

/** Backticks and tildes are text, and also delimit code. */
function* passRun(cursor: Cursor, char: string, code: CodeMarks, parts: PartList): Reading<void> {
  let length = 0;
  for (;;) {
    while (cursor.mustWait) yield;
    if (cursor.char !== char) break;
    length += 1;
    parts.say("text", char);
    cursor.skip();
  }
  code.run(char, length, cursor.char);
}

function* readAtTag(reader: Reader): Reading<void> {
  const { cursor, names, code, signs, say } = reader;
  const { raw, tag } = yield* readTag(cursor, names);
  if (tag === undefined) {
    yield* after(cursor, raw, say);
  } else if (thinking.includes(tag.name) && tag.about === undefined && !tag.isWhole) {
    yield* readThought(reader, { closing: `</${tag.name}>`, opened: raw, isAtLineStart: code.isLineStart });
    yield* readSpace(cursor, maxGapLength);
  } else if (tag.name === endOfThought) {
    while (cursor.mustWait) yield;
    // In a sentence about such tags, words follow.
    signs.hasStrayEnd ||= cursor.char === "" || cursor.char === "\n";
    say(raw);
  } else {
    yield* after(cursor, yield* readCalls(reader, raw, tag), say);
  }
}

function readCalls(reading: CallReading, raw: string, tag: Tag): Reading<string | undefined> {
  return envelopes.includes(tag.name) && tag.about === undefined && !tag.isWhole
    ? readEnvelope(reading, raw, tag.name)
    : readTagged(reading, raw, tag);
}

/** Text that only looked like a call is prose that may still contain one, so only its first character is consumed. */
function* after(cursor: Cursor, read: string | undefined, say: (text: string) => void): Reading<void> {
  if (read === undefined) {
    yield* readSpace(cursor, maxGapLength);
    return;
  }
  cursor.unread(read.slice(1));
  say(read.charAt(0));
}
