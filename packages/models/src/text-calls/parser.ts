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

/** Reads one reply. What it finds does not depend on where the reply was cut into pieces. */
export interface TextCallParser {
  /** The next piece of the reply; gives what is now known of it. */
  push(text: string): ReplyPart[];
  /** The reply is over; gives the rest. */
  end(): ReplyPart[];
  /** What is not in the parts. */
  readonly signs: Readonly<ThoughtSigns>;
}

/**
 * A form of calls in the words of a reply: `written`, all those of models without calls of their own; `tool_call`, the
 * tag of Hermes, Qwen and GLM; and the marks of DeepSeek and of Mistral, also those around thoughts.
 */
export type CallForm = "written" | "tool_call" | "deepseek" | "mistral";

/** What a parser is to look for. */
export interface ParserOptions {
  /** Absent: all forms. With `written` a call may have any name, else only that of a tool. */
  forms?: ReadonlySet<CallForm>;
  /** The reply begins in a thought: the model's template has opened it. */
  opensInThought?: boolean;
}

interface Reader extends CallReading {
  forms: ReadonlySet<CallForm>;
  names: TagNames;
  code: CodeMarks;
  /** Where something else than words may begin, or end, in each place. */
  marks: Readonly<Record<CodeMarks["place"], RegExp>>;
  signs: ThoughtSigns;
  say: (text: string) => void;
}

const allForms: ReadonlySet<CallForm> = new Set(["written", "tool_call", "deepseek", "mistral"]);
/** White space after a call or a thought belongs to it; more than this does not. */
const longestGap = 100;

/**
 * A parser for the replies of a model that writes its calls as text: `<tool_use><invoke name="…">`, the tags of the
 * tools in `toolNames`, JSON, and the forms of models whose server leaves their calls in the text. Words, thoughts and
 * calls come out apart. A call in a code block or between backticks is an example, not a call. It takes time in
 * proportion to the reply, and keeps at most the call it is in, and a thought that may be none.
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
  // Up to its first wait.
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

/** What is looked for with these tools and forms. Replies share it: a search sets the place where its pattern begins. */
type Vocabulary = Pick<Reader, "isTool" | "mayName" | "names" | "marks">;

/** A server has few lists of tools, and asks for the same in each call. */
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
 * Where in prose something else may begin: a tag by the first letter of its name, DeepSeek's marks by a bar, JSON by a
 * quotation mark; at the end of a piece that is not known yet. The fewer places, the faster a long reply is read.
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

/** Reads what a mark may begin; false where it begins nothing that is looked for, and nothing was read. */
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

/** Reads calls or a thought of Mistral's models, which differ in the third character. */
function* readMistral(reader: Reader): Reading<string | undefined> {
  const begun = yield* readLiteral(reader.cursor, "[TH");
  reader.cursor.unread(begun);
  return yield* begun === "[TH" ? readMistralThought(reader, reader.code.isLineStart) : readMistralCalls(reader);
}

/** Reads calls of DeepSeek's models in their marks, or in their markup, which has another letter behind the bars. */
function* readDeepSeek(reader: Reader): Reading<string | undefined> {
  const { cursor } = reader;
  let begun = "";
  while (begun === "" || (/[｜|]/.test(cursor.char) && begun.length < 3)) {
    begun += cursor.char;
    cursor.skip();
    while (cursor.mustWait) yield;
  }
  const isMarkup = cursor.char === "D";
  cursor.unread(begun);
  return yield* isMarkup ? readDsmlCalls(reader) : readDeepSeekCalls(reader);
}

/** Backticks and tildes are text; they also say where code is. */
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
    yield* readSpace(cursor, longestGap);
  } else if (tag.name === endOfThought) {
    while (cursor.mustWait) yield;
    // In a sentence about such tags words follow.
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

/** What looked like a call and was none is prose, in which a call may yet begin; so only its first character is passed. */
function* after(cursor: Cursor, read: string | undefined, say: (text: string) => void): Reading<void> {
  if (read === undefined) {
    yield* readSpace(cursor, longestGap);
    return;
  }
  cursor.unread(read.slice(1));
  say(read.charAt(0));
}
