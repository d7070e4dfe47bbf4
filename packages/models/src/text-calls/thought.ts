import type { Cursor, Reading } from "./cursor.ts";
import { readLiteral } from "./forms/literal.ts";
import { readSpace, readTag, tagNames } from "./forms/tag.ts";
import type { PartList } from "./forms/tool-use.ts";
import { readUntil } from "./forms/value.ts";

/** The tags that models write around their thoughts. */
export const thinking = ["thinking", "think"];
/** The end of a thought that the template of some models has opened (DeepSeek R1). */
export const endOfThought = "/think";

/** What Mistral's models write around theirs. */
const mistralThought = { opening: "[THINK]", closing: "[/THINK]" };

const longestSpace = 100;

/** What is seen of a model's thoughts beside the thoughts themselves. */
export interface ThoughtSigns {
  /** A thought ended that had never begun: what was said before it was one. */
  hasStrayEnd: boolean;
  /** What was read as a thought and, as it never ended, may have been words; known when the reply is over. */
  unended: string | undefined;
}

interface ThoughtReading {
  cursor: Cursor;
  parts: PartList;
  signs: ThoughtSigns;
}

/** Reads a thought behind its opening tag. One that begins amid a line of words and never ends may be about such tags. */
export function* readThought(
  { cursor, parts, signs }: ThoughtReading,
  { closing, opened, isAtLineStart }: { closing: string; opened: string; isAtLineStart: boolean },
): Reading<void> {
  let doubtful = isAtLineStart ? undefined : opened;
  const isEnded = yield* readUntil(cursor, closing, (text) => {
    parts.say("reasoning", text);
    if (doubtful !== undefined) doubtful += text;
  });
  if (!isEnded) signs.unended = doubtful;
}

/** Reads a thought of Mistral's models, at its `[`. `undefined` when it was one; else what was read. */
export function* readMistralThought(reading: ThoughtReading, isAtLineStart: boolean): Reading<string | undefined> {
  const { opening, closing } = mistralThought;
  const opened = yield* readLiteral(reading.cursor, opening);
  if (opened !== opening) return opened;
  yield* readThought(reading, { closing, opened, isAtLineStart });
  return undefined;
}

/** Reads the thought that a reply begins in, up to its closing tag; with an opening tag it is a thought like others. */
export function* readOpenThought({ cursor, parts, signs }: ThoughtReading): Reading<void> {
  let read = yield* readSpace(cursor, longestSpace);
  while (cursor.mustWait) yield;
  if (cursor.char === "<") {
    const { raw, tag } = yield* readTag(cursor, tagNames(thinking));
    cursor.unread(raw);
    if (tag !== undefined) return;
  }
  const isEnded = yield* readUntil(cursor, `<${endOfThought}>`, (text) => {
    parts.say("reasoning", text);
    read += text;
  });
  if (isEnded) yield* readSpace(cursor, longestSpace);
  else signs.unended = read;
}
