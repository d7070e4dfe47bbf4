import { envelopes, readEnvelope, readTagged } from "./call-block.ts";
import type { CallReading } from "./call-reading.ts";
import { CodeMarks } from "./code-marks.ts";
import { Cursor, type Reading } from "./cursor.ts";
import { readJsonCall } from "./json-call.ts";
import { readSpace, readTag, tagNames, type Tag, type TagNames } from "./tag.ts";
import { PartList, type ReplyPart } from "./tool-use.ts";
import { readUntil } from "./value.ts";

/** Reads one reply. What it finds does not depend on where the reply was cut into pieces. */
export interface TextCallParser {
  /** The next piece of the reply; gives what is now known of it. */
  push(text: string): ReplyPart[];
  /** The reply is over; gives the rest. */
  end(): ReplyPart[];
}

const thinking = ["thinking", "think"];
/**
 * Where something else may begin or end. A tag begins with a letter, and JSON with a quotation mark; at the end of a piece
 * that is not known yet.
 */
const marks = { prose: /<(?=[A-Za-z_]|$)|\{(?=[\s"']|$)|[`~]/g, line: /[`~\n]/g, fence: /[`~]/g };
/** White space after a call or a thought belongs to it; more than this does not. */
const longestGap = 100;

/**
 * A parser for the replies of a model that writes its calls as text (XML-01, XML-02): `<tool_use><invoke name="…">`, the tags
 * of the tools in `toolNames`, JSON, and the forms of models whose server leaves their calls in the text. Words, thoughts
 * and calls come out apart (XML-06, XML-07, XML-08). A call in a code block or between backticks is an example, not a call.
 * It takes time in proportion to the reply, and keeps at most the call it is in.
 */
export function createTextCallParser(toolNames: readonly string[]): TextCallParser {
  const cursor = new Cursor();
  const parts = new PartList();
  const known = new Set(toolNames);
  const reading: CallReading = { cursor, parts, tools: toolNames, isTool: (name) => known.has(name) };
  const reply = readReply(reading);
  const readOn = (): ReplyPart[] => {
    reply.next();
    return parts.take();
  };
  // Up to its first wait.
  reply.next();
  return {
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

function* readReply(reading: CallReading): Reading<void> {
  const { cursor, parts, tools } = reading;
  const names = tagNames([...thinking, ...envelopes, "invoke", "function", ...tools]);
  const code = new CodeMarks();
  const say = (text: string): void => {
    code.pass(text);
    parts.say("text", text);
  };
  for (;;) {
    while (cursor.mustWait) yield;
    if (cursor.isAtEnd) return;
    say(cursor.takeUntil(marks[code.place]));
    while (cursor.mustWait) yield;
    const { char } = cursor;
    if (char === "`" || char === "~") {
      yield* passRun(cursor, char, code, parts);
    } else if (char === "<" && code.place === "prose") {
      yield* readAtTag(reading, names, say);
    } else if (char === "{" && code.place === "prose") {
      yield* after(cursor, yield* readJsonCall(reading, reading.isTool), say);
    } else {
      say(char);
      cursor.skip();
    }
  }
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

function* readAtTag(reading: CallReading, names: TagNames, say: (text: string) => void): Reading<void> {
  const { cursor, parts } = reading;
  const { raw, tag } = yield* readTag(cursor, names);
  if (tag === undefined) {
    yield* after(cursor, raw, say);
  } else if (thinking.includes(tag.name) && tag.about === undefined && !tag.isWhole) {
    yield* readUntil(cursor, `</${tag.name}>`, (text) => parts.say("reasoning", text));
    yield* readSpace(cursor, longestGap);
  } else {
    yield* after(cursor, yield* readCalls(reading, raw, tag), say);
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
