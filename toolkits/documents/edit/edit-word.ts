import { AppError } from "@millrace/engine/errors/errors";
import { applyEdits, type Edit } from "../../../src/tools/files/apply-edits.ts";
import { readParts, replacePart } from "../formats/zip-parts.ts";
import { changesOf } from "./change-lines.ts";
import type { Change } from "./change-text.ts";
import { editForms } from "./edit-forms.ts";
import { stepsAfter, textOf, unchanged } from "./steps.ts";
import { styleMarks } from "./word-lines.ts";
import { wordLines } from "./word-reader.ts";

const namespace = /\sxmlns(?::([\w.-]+))?\s*=\s*["'][^"']*\/wordprocessingml\/(?:2006\/)?main["']/u;

/** An edited Word document: `undefined` if nothing changed; `kept` as in `Changes`. */
export interface EditedWord {
  file: Uint8Array | undefined;
  count: number;
  kept: number;
}

/**
 * Edits the text of a Word document. All other parts of the file stay byte for byte, as does unaffected text. Throws
 * what `applyEdits` and `readParts` throw, and `invalid_parameter` for what a document cannot contain.
 */
export function editWord(file: Uint8Array, edits: readonly Edit[]): EditedWord {
  requireText(edits);
  const main = mainPart(file);
  const styles = `${main.slice(0, main.lastIndexOf("/") + 1)}styles.xml`;
  const parts = readParts(file, (name) => name === main || name === styles);
  const xml = utf8(parts.get(main));
  const prefix = prefixOf(xml);
  const styleSource = parts.get(styles)?.toString("utf8") ?? "";
  const marks = styleMarks(styleSource, namespace.test(styleSource) ? prefixOf(styleSource) : prefix);
  const { lines, begin } = wordLines(xml, prefix, marks);
  let steps = unchanged(lines);
  let count = 0;
  for (const [index, edit] of edits.entries()) {
    const { made, count: places } = applyEdits(textOf(steps), [edit], editForms, index);
    for (const form of made) steps = stepsAfter(steps, form);
    count += places;
  }
  const styleOf = (mark: string): string | undefined => [...marks].find(([, one]) => one === mark)?.[0];
  const { changes, kept } = changesOf({ xml, prefix, styleOf }, steps, begin);
  if (changes.length === 0) return { file: undefined, count, kept };
  return { file: replacePart(file, main, Buffer.from(changed(xml, changes))), count, kept };
}

/** The name of the main text part. */
function mainPart(file: Uint8Array): string {
  const relations =
    readParts(file, (name) => name === "_rels/.rels")
      .get("_rels/.rels")
      ?.toString("utf8") ?? "";
  const main = relations.match(/<Relationship\s[^>]*>/gu)?.find((one) => /Type="[^"]*\/officeDocument"/u.test(one));
  const target = /Target="\/?([^"]*)"/u.exec(main ?? "")?.[1] ?? "word/document.xml";
  if (readParts(file, (name) => name === target).size === 1) return target;
  throw new AppError("invalid_format", "It is not a Word document, whatever its name says.", {
    suggestion: "Look at what the file really is, or ask the user.",
  });
}

function utf8(part: Uint8Array | undefined): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(part);
  } catch (error) {
    throw new AppError("invalid_format", "It cannot be edited: its text is not in UTF-8.", {
      suggestion: "Ask the user to open it in a word processor and to save it again.",
      cause: error,
    });
  }
}

function prefixOf(xml: string): string {
  const found = namespace.exec(xml.slice(0, 20_000));
  if (found === null) {
    throw new AppError("invalid_format", "It is not a Word document, whatever its name says.", {
      suggestion: "Look at what the file really is, or ask the user.",
    });
  }
  return found[1] === undefined ? "" : `${found[1]}:`;
}

/** Throws for characters not allowed in documents. */
function requireText(edits: readonly Edit[]): void {
  for (const [index, { new_string }] of edits.entries()) {
    if (new_string.isWellFormed() && !/[^\P{Cc}\t\n\r]|[\uFFFE\uFFFF]/u.test(new_string)) continue;
    throw new AppError(
      "invalid_parameter",
      `Edit ${index + 1}: its new_string has characters that no document may have.`,
      {
        suggestion: "Leave out control characters.",
      },
    );
  }
}

function changed(xml: string, changes: readonly Change[]): string {
  const parts: string[] = [];
  let at = 0;
  for (const { start, end, put } of changes.toSorted((one, other) => one.start - other.start)) {
    if (start < at) throw new AppError("invalid_state", "Two changes of a document overlap.");
    parts.push(xml.slice(at, start), put);
    at = end;
  }
  return [...parts, xml.slice(at)].join("");
}
