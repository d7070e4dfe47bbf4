import { AppError } from "@millrace/engine/errors/errors";
import { lineBreak, type Paragraph, type Piece } from "./word-lines.ts";
import { type Hunk, hunksOf } from "./word-diff.ts";
import { xmlEscaped } from "./xml-tags.ts";

/** What takes the place of a part of the source. */
export interface Change {
  start: number;
  end: number;
  put: string;
}

/**
 * The changes that make a paragraph say `text`. Each word keeps the look that it has, and a new one has that of what it
 * replaces, or of what stands before it. Throws `invalid_parameter` where a part would go that cannot be put back.
 */
export function changeText(paragraph: Paragraph, text: string, prefix: string): Change[] {
  const change = new ParagraphChange(paragraph, prefix);
  for (const hunk of hunksOf(paragraph.pieces, text)) change.make(hunk);
  return change.end();
}

class ParagraphChange {
  readonly #paragraph: Paragraph;
  readonly #prefix: string;
  readonly #changes: Change[] = [];
  /** What changes in elements of text. */
  readonly #places = new Map<Piece, Hunk[]>();

  constructor(paragraph: Paragraph, prefix: string) {
    this.#paragraph = paragraph;
    this.#prefix = prefix;
  }

  make(hunk: Hunk): void {
    let { put } = hunk;
    let at = 0;
    for (const piece of this.#paragraph.pieces) {
      const begin = at;
      at += piece.text.length;
      const [from, to] = [Math.max(hunk.from, begin), Math.min(hunk.to, at)];
      if (from >= to) continue;
      if (piece.kind === "fixed") throw isFixed(piece.text);
      if (piece.kind === "text") this.#inPiece(piece, { from: from - begin, to: to - begin, put });
      else {
        // What replaces a tab alone stands in its place.
        const isAll = put !== "" && hunk.from === from && hunk.to === to;
        const { start, end } = piece;
        this.#changes.push({ start, end, put: isAll ? textElement(put, this.#prefix) : "" });
        if (!isAll) continue;
      }
      put = "";
    }
    if (put !== "") this.#insert(hunk.from, put);
  }

  end(): Change[] {
    return [...this.#changes, ...[...this.#places].map(([piece, hunks]) => this.#replaced(piece, hunks))];
  }

  #inPiece(piece: Piece, hunk: Hunk): void {
    this.#places.set(piece, [...(this.#places.get(piece) ?? []), hunk]);
  }

  /** Puts a text between two characters. */
  #insert(from: number, put: string): void {
    let at = 0;
    const near = this.#paragraph.pieces.flatMap((piece) => {
      const begin = at;
      at += piece.text.length;
      return piece.text !== "" && begin <= from && from <= at ? [{ piece, from: from - begin }] : [];
    });
    const inText = near.find(({ piece }) => piece.kind === "text");
    const beside = near.find(({ piece }) => piece.kind === "element");
    if (inText !== undefined) this.#inPiece(inText.piece, { from: inText.from, to: inText.from, put });
    else if (beside !== undefined) {
      const place = beside.from === 0 ? beside.piece.start : beside.piece.end;
      this.#changes.push({ start: place, end: place, put: textElement(put, this.#prefix) });
    } else if (from === 0 || from === at) this.#changes.push(this.#newRun(put, from === 0 && at > 0));
    else throw isFixed(near[0]?.piece.text ?? "");
  }

  /** Puts a text at the beginning or the end of the paragraph. */
  #newRun(put: string, isBefore: boolean): Change {
    const { start, end, inside } = this.#paragraph;
    const prefix = this.#prefix;
    const made = run(put, formatOf(this.#paragraph, prefix), prefix);
    if (inside.start === start) return { start, end, put: `<${prefix}p>${made}</${prefix}p>` };
    const place = isBefore ? inside.start : inside.end;
    return { start: place, end: place, put: made };
  }

  #replaced({ text: old, start, end }: Piece, hunks: readonly Hunk[]): Change {
    const parts: string[] = [];
    let at = 0;
    for (const { from, to, put } of hunks) {
      parts.push(xmlEscaped(old.slice(at, from)), written(put, this.#prefix));
      at = to;
    }
    parts.push(xmlEscaped(old.slice(at)));
    return { start, end, put: textElement(parts.join(""), this.#prefix, true) };
  }
}

/** A new text as it stands in an element of text. */
function written(text: string, prefix: string): string {
  const between = (tag: string): string => `</${prefix}t><${prefix}${tag}/><${prefix}t xml:space="preserve">`;
  return xmlEscaped(text).replaceAll(lineBreak, between("br")).replaceAll("\t", between("tab"));
}

function textElement(text: string, prefix: string, isWritten = false): string {
  return `<${prefix}t xml:space="preserve">${isWritten ? text : written(text, prefix)}</${prefix}t>`;
}

/** A run that says a text. */
export function run(text: string, format: string, prefix: string): string {
  return `<${prefix}r>${format}${textElement(text, prefix)}</${prefix}r>`;
}

/** How the most of a paragraph's text looks; of one without text, its end. */
export function formatOf({ pieces, properties }: Paragraph, prefix: string): string {
  const texts = pieces.filter(({ kind }) => kind === "text");
  const longest = texts.reduce<Piece | undefined>(
    (best, one) => (best === undefined || one.text.length > best.text.length ? one : best),
    undefined,
  );
  if (longest !== undefined) return untracked(longest.format, prefix);
  return new RegExp(String.raw`<${prefix}rPr>.*</${prefix}rPr>`, "su").exec(untracked(properties, prefix))?.[0] ?? "";
}

/** Properties without what belongs to one place alone: a change that is tracked, the end of a section. */
export function untracked(properties: string, prefix: string): string {
  const whole = ["rPrChange", "pPrChange", "trPrChange", "tcPrChange", "sectPr"].map(
    (name) => String.raw`<${prefix}${name}[\s>][\s\S]*?</${prefix}${name}>`,
  );
  const marks = String.raw`<${prefix}(?:ins|del|moveFrom|moveTo|cellIns|cellDel)\s[^>]*/>`;
  return properties.replaceAll(new RegExp([...whole, marks].join("|"), "gu"), "");
}

function isFixed(text: string): AppError {
  return new AppError(
    "invalid_parameter",
    `This edit cannot be made: "${text}" is a formula or the mark of a note, which has to stay in its place.`,
    { suggestion: "Leave it in new_string as it is, or make smaller edits beside it." },
  );
}
