import { z } from "zod";
import { AppError } from "@millrace/engine/errors/errors";
import { nearestText } from "./nearest-text.ts";

/** One replacement in a text. */
export const Edit = z.object({
  old_string: z
    .string()
    .min(1)
    .describe("the text to replace, exact to the blank, without line numbers; unique in the file"),
  new_string: z.string().describe("the text in its place; empty to delete"),
  replace_all: z.boolean().optional().describe("replace every occurrence; default false"),
});
export type Edit = z.infer<typeof Edit>;

/** Several replacements. */
export const Edits = z
  .array(Edit)
  .min(1)
  .max(100)
  .describe("one or more replacements, each made in what the one before it has left");

/** The edited text, the number of places changed, and the edits as applied. */
export interface Edited {
  text: string;
  count: number;
  made: Edit[];
}

/**
 * Applies all edits, or throws `invalid_parameter` naming the first one not found or not unique. `forms` are variants
 * of an edit; the first one found is applied. `madeBefore`: number of the call's earlier edits.
 */
export function applyEdits(
  before: string,
  edits: readonly Edit[],
  forms: (edit: Edit) => readonly Edit[] = (edit) => [withLineEnds(edit, before)],
  madeBefore = 0,
): Edited {
  let text = before;
  let count = 0;
  const made: Edit[] = [];
  for (const [index, edit] of edits.entries()) {
    const number = madeBefore + index + 1;
    const [given = edit, ...others] = forms(edit);
    const form = [given, ...others].find((form) => form.old_string !== "" && text.includes(form.old_string)) ?? given;
    const { old_string, new_string, replace_all } = form;
    const places = text.split(old_string).length - 1;
    if (places === 0) throw notFound(text, old_string, number);
    if (places > 1 && replace_all !== true) throw notUnique(text, old_string, places, number);
    text = text.replaceAll(old_string, () => new_string);
    count += places;
    made.push(form);
  }
  return { text, count, made };
}

/**
 * The edit with the line ends of the text: models write plain line feeds.
 */
function withLineEnds(edit: Edit, text: string): Edit {
  if (!text.includes("\r\n") || /(?<!\r)\n/u.test(text)) return edit;
  const inText = (part: string): string => part.replaceAll(/\r?\n/gu, "\r\n");
  return { ...edit, old_string: inText(edit.old_string), new_string: inText(edit.new_string) };
}

function notFound(text: string, old: string, number: number): AppError {
  const near = nearestText(text.split(/\r?\n/u), old.split(/\r?\n/u));
  return new AppError(
    "invalid_parameter",
    `Edit ${number}: its old_string is not in the file, and nothing was changed.${near === undefined ? "" : `\n${near}`}`,
    {
      suggestion: "Read the lines and copy old_string from them, with their blanks and without their numbers.",
      message_zh: `第 ${number} 处修改：文件中没有要替换的原文，未作任何更改。`,
    },
  );
}

/** Places named in an error, and characters shown around each. */
const [maxNamed, around] = [5, 30];

function notUnique(text: string, old: string, places: number, number: number): AppError {
  const lines: number[] = [];
  const parts: string[] = [];
  for (let at = text.indexOf(old); at !== -1 && lines.length < maxNamed; at = text.indexOf(old, at + old.length)) {
    lines.push(text.slice(0, at).split("\n").length);
    parts.push(text.slice(Math.max(0, at - around), at + old.length + around).toWellFormed());
  }
  const more = places > lines.length ? ` and ${places - lines.length} more` : "";
  // In one long line, line numbers do not help.
  const shown = new Set(lines).size < lines.length && old.length < 200 ? `\n${parts.join("\n")}` : "";
  return new AppError(
    "invalid_parameter",
    `Edit ${number}: its old_string stands in the file ${places} times (line ${[...new Set(lines)].join(", ")}${more}), and nothing was changed.${shown}`,
    {
      suggestion: "Take in lines around the place that is meant, or set replace_all to change them all.",
      message_zh: `第 ${number} 处修改：要替换的原文在文件中出现了 ${places} 次，未作任何更改。`,
    },
  );
}
