import type { Cursor, Reading } from "./cursor.ts";
import { readLiteral } from "./forms/literal.ts";
import { readSpace, readTag, tagNames } from "./forms/tag.ts";
import type { PartList } from "./forms/tool-use.ts";
import { readUntil } from "./forms/value.ts";

/** Tags around reasoning. */
export const thinking = ["thinking", "think"];
/** The end of reasoning opened by some models' template (DeepSeek R1). */
export const endOfThought = "/think";

/** Mistral's marks around reasoning. */
const mistralThought = { opening: "[THINK]", closing: "[/THINK]" };

const maxSpaceLength = 100;

/** Observations about a model's reasoning. */
export interface ThoughtSigns {
  /** Reasoning was closed without being opened: the text before was reasoning. */
  hasStrayEnd: boolean;
  /** Unclosed reasoning, which may have been text; known when the reply ends. */
  unended: string | undefined;
}

interface ThoughtReading {
  cursor: Cursor;
  parts: PartList;
  signs: ThoughtSigns;
}

/**
 * Parses reasoning after its opening tag. If it begins within a line of text and is never closed, it may be a text
 * about such tags.
 */
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

/** Parses reasoning of Mistral's models at its `[`. `undefined` if it was reasoning; else the consumed text. */
export function* readMistralThought(reading: ThoughtReading, isAtLineStart: boolean): Reading<string | undefined> {
  const { opening, closing } = mistralThought;
  const opened = yield* readLiteral(reading.cursor, opening);
  if (opened !== opening) return opened;
  yield* readThought(reading, { closing, opened, isAtLineStart });
  return undefined;
}

/** Parses the reasoning at a reply's start, up to its closing tag; after an opening tag it is like any other. */
export function* readOpenThought({ cursor, parts, signs }: ThoughtReading): Reading<void> {
  let read = yield* readSpace(cursor, maxSpaceLength);
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
  if (isEnded) yield* readSpace(cursor, maxSpaceLength);
  else signs.unended = read;
}
