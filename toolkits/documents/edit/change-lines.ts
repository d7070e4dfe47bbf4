import { AppError } from "@millrace/engine/errors/errors";
import { type Change, changeText, formatOf, run, untracked } from "./change-text.ts";
import { type Cell, type Line, lineBreak, type Paragraph, plainText, type Table } from "./word-lines.ts";
import { cellsOf, isRow, markPattern, type Step } from "./steps.ts";

/**
 * The changes of a source, and the number of paragraphs that lose their text but stay, since they contain something
 * else.
 */
export interface Changes {
  changes: Change[];
  kept: number;
}

/** The context for writing: the source, its tag prefix, and styles for headings and lists without an example. */
export interface Source {
  xml: string;
  prefix: string;
  /** The id of the style with this mark. */
  styleOf: (mark: string) => string | undefined;
}

/** The changes of a document that begins at `begin`: paragraphs and rows are changed in place, added and removed. */
export function changesOf(source: Source, steps: readonly Step[], begin: number): Changes {
  const changes: Change[] = [];
  let kept = 0;
  const lost = tablesLost(steps);
  for (const { start, end } of lost) changes.push({ start, end, put: "" });
  for (const [index, { line, was, text }] of steps.entries()) {
    if (line !== undefined && text !== undefined) {
      if (was !== text) changes.push(...changedLine(source, line, text));
    } else if (text !== undefined) changes.push(newLine(source, steps, index, begin, text));
    else if (line !== undefined && !(line.kind === "row" && lost.has(line.table))) {
      const gone = removed(source, line);
      changes.push(...gone.changes);
      kept += gone.kept;
    }
  }
  return { changes, kept };
}

function changedLine({ prefix }: Source, line: Line, wanted: string): Change[] {
  if (line.kind === "paragraph") return changeText(line.paragraph, wanted.slice(line.mark.length), prefix);
  return cellsOf(wanted).flatMap((text, index) => changedCell(line.cells[index] ?? null, text, prefix));
}

/** Gives each paragraph of a cell as many lines as before; the last gets the rest, and empty ones are removed. */
function changedCell(cell: Cell, text: string, prefix: string): Change[] {
  if (cell === null) {
    if (text === "") return [];
    throw new AppError("invalid_parameter", `"${text}" cannot be put there: the cell before it covers this column.`, {
      suggestion: "Put it into the cell before it, or into another row.",
    });
  }
  const parts = text.split(lineBreak);
  const withText = cell.paragraphs.filter((paragraph) => plainText([paragraph]) !== "");
  const shown = withText.length === 0 ? cell.paragraphs.slice(0, 1) : withText;
  return shown.flatMap((paragraph, index) => {
    const lines = index === shown.length - 1 ? parts.length : plainText([paragraph]).split(lineBreak).length;
    const wanted = parts.splice(0, lines);
    const isGone = wanted.length === 0 && !paragraph.holds;
    if (isGone) return [{ start: paragraph.start, end: paragraph.end, put: paragraph.anchors.join("") }];
    return changeText(paragraph, wanted.join(lineBreak), prefix);
  });
}

/** Tables that lose all their rows. */
function tablesLost(steps: readonly Step[]): ReadonlySet<Table> {
  const rows = steps.filter(({ line }) => line?.kind === "row");
  const counts = new Map<Table, number>();
  for (const { line, text } of rows) {
    if (line?.kind === "row") counts.set(line.table, (counts.get(line.table) ?? 0) + (text === undefined ? 1 : 0));
  }
  const holds = (table: Table): boolean =>
    rows.some(({ line }) => line?.kind === "row" && line.table === table && held(line) > 0);
  const hasNewRow = (table: Table): boolean =>
    steps.some(({ line, text }, at) => {
      const before = steps[at - 1]?.line;
      return line === undefined && isRow(text ?? "") && before?.kind === "row" && before.table === table;
    });
  return new Set(
    [...counts].flatMap(([table, count]) =>
      count === table.rows && !holds(table) && !hasNewRow(table) ? [table] : [],
    ),
  );
}

/** The number of a line's paragraphs that contain something besides text. */
function held(line: Line): number {
  const all = line.kind === "paragraph" ? [line.paragraph] : line.cells.flatMap((cell) => cell?.paragraphs ?? []);
  return all.filter(({ holds }) => holds).length;
}

/** Removes a line, or only its text if it contains something else. */
function removed({ xml, prefix }: Source, line: Line): Changes {
  const { start, end } = line;
  if (line.kind === "row") {
    if (held(line) === 0) return { changes: [{ start, end, put: "" }], kept: 0 };
    const changes = line.cells.flatMap((cell) => (cell?.paragraphs ?? []).flatMap((one) => emptied(one)));
    return { changes, kept: held(line) };
  }
  const [before, after] = [xml.slice(Math.max(0, start - 40), start), xml.slice(end, end + 40)];
  // Two tables would merge, and a content control needs a paragraph.
  const isNeeded =
    (before.endsWith(`</${prefix}tbl>`) && !after.startsWith(`<${prefix}p`)) ||
    (before.endsWith(`<${prefix}sdtContent>`) && after.startsWith(`</${prefix}sdtContent>`));
  if (line.paragraph.holds) return { changes: emptied(line.paragraph), kept: 1 };
  if (isNeeded) return { changes: emptied(line.paragraph), kept: 0 };
  return { changes: [{ start, end, put: line.paragraph.anchors.join("") }], kept: 0 };
}

/** Removes a paragraph's text. Formulas and note marks stay. */
function emptied({ pieces }: Paragraph): Change[] {
  return pieces.flatMap(({ kind, start, end }) => (kind === "fixed" ? [] : [{ start, end, put: "" }]));
}

/** A new line after the previous one, formatted like a line of its kind. */
function newLine(source: Source, steps: readonly Step[], index: number, begin: number, text: string): Change {
  const before = steps.slice(0, index).findLast(({ line }) => line !== undefined)?.line;
  const after = steps.slice(index).find(({ line }) => line !== undefined)?.line;
  if (isRow(text)) return newRow(source, before, after, cellsOf(text));
  if (before?.kind === "row" && after?.kind === "row" && before.table === after.table) {
    throw new AppError("invalid_parameter", `"${text.slice(0, 80)}" cannot stand between two rows of a table.`, {
      suggestion: "Put it before or after the table, or into a cell.",
    });
  }
  const place =
    before === undefined
      ? after === undefined
        ? begin
        : (after.kind === "row" ? after.table : after).start
      : (before.kind === "row" ? before.table : before).end;
  const mark = markPattern.exec(text)?.[0] ?? "";
  const all = steps.flatMap(({ line }) => (line?.kind === "paragraph" && line.mark === mark ? [line.paragraph] : []));
  const example = all.findLast(({ end }) => end <= place) ?? all[0];
  return { start: place, end: place, put: newParagraph(source, example, mark, text.slice(mark.length)) };
}

function newParagraph({ prefix, styleOf }: Source, example: Paragraph | undefined, mark: string, text: string): string {
  if (example !== undefined) return likeParagraph(example, text, prefix);
  if (mark === "") return `<${prefix}p>${run(text, "", prefix)}</${prefix}p>`;
  const style = styleOf(mark);
  if (style === undefined) {
    const what = mark === "- " ? "no list" : `no heading of level ${mark.trim().length}`;
    throw new AppError(
      "invalid_parameter",
      `"${mark}${text.slice(0, 80)}": the document has ${what} to take the look from.`,
      {
        suggestion: "Write the line without its mark, or with the mark of a heading or a list that the document has.",
      },
    );
  }
  const properties = `<${prefix}pPr><${prefix}pStyle ${prefix}val="${style}"/></${prefix}pPr>`;
  return `<${prefix}p>${properties}${run(text, "", prefix)}</${prefix}p>`;
}

function likeParagraph(example: Paragraph, text: string, prefix: string): string {
  const content = text === "" ? "" : run(text, formatOf(example, prefix), prefix);
  return `<${prefix}p>${untracked(example.properties, prefix)}${content}</${prefix}p>`;
}

function newRow({ prefix }: Source, before: Line | undefined, after: Line | undefined, cells: string[]): Change {
  const fits = (line: Line | undefined) =>
    line?.kind === "row" && line.cells.length === cells.length ? line : undefined;
  const [above, below] = [fits(before), fits(after)];
  const isHead = above?.properties.includes(`<${prefix}tblHeader`) === true;
  const example = isHead && below?.table === above.table ? below : (above ?? below);
  if (example === undefined) {
    const row = [before, after].find((line) => line?.kind === "row");
    const message =
      row?.kind === "row"
        ? `The new row has ${cells.length} cells; those of the table have ${row.cells.length}.`
        : "The new row stands at no table, and a table cannot be made by an edit.";
    throw new AppError("invalid_parameter", message, {
      suggestion: "Put it directly after a row of the table, with as many cells between the bars.",
    });
  }
  const head = new RegExp(String.raw`<${prefix}tblHeader[^>]*>`, "u");
  const properties = untracked(example.properties, prefix).replace(head, "");
  const made = example.cells.flatMap((cell, index): string[] => {
    if (cell === null) return changedCell(cell, cells[index] ?? "", prefix).map(({ put }) => put);
    const like = cell.paragraphs.find(({ pieces }) => pieces.length > 0) ?? cell.paragraphs[0];
    const text = cells[index] ?? "";
    const inside = like === undefined ? newPlain(text, prefix) : likeParagraph(like, text, prefix);
    return [`<${prefix}tc>${untracked(cell.properties, prefix)}${inside}</${prefix}tc>`];
  });
  const place = above === undefined ? example.start : above.end;
  return { start: place, end: place, put: `<${prefix}tr>${properties}${made.join("")}</${prefix}tr>` };
}

function newPlain(text: string, prefix: string): string {
  return `<${prefix}p>${text === "" ? "" : run(text, "", prefix)}</${prefix}p>`;
}
