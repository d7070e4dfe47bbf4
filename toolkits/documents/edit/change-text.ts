import { AppError } from "@millrace/engine/errors/errors";
import { lineBreak, type Paragraph, type Piece } from "./word-lines.ts";
import { type Hunk, hunksOf } from "./word-diff.ts";
import { xmlEscaped } from "./xml-tags.ts";

/** A replacement for a part of the source. */
export interface Change {
  start: number;
  end: number;
  put: string;
}

/**
 * The changes that set a paragraph's text. Each word keeps its formatting, and a new one takes that of what it replaces
 * or follows. Throws `invalid_parameter` if a part that cannot be restored would be lost.
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
  /** Changes within text elements. */
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
        // The replacement of a single tab takes its position.
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

  /** Inserts text between two characters. */
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

  /** Inserts text at the beginning or end of the paragraph. */
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

/** New text in the notation of a text element. */
function written(text: string, prefix: string): string {
  const between = (tag: string): string => `</${prefix}t><${prefix}${tag}/><${prefix}t xml:space="preserve">`;
  return xmlEscaped(text).replaceAll(lineBreak, between("br")).replaceAll("\t", between("tab"));
}

function textElement(text: string, prefix: string, isWritten = false): string {
  return `<${prefix}t xml:space="preserve">${isWritten ? text : written(text, prefix)}</${prefix}t>`;
}

/** A run with this text. */
export function run(text: string, format: string, prefix: string): string {
  return `<${prefix}r>${format}${textElement(text, prefix)}</${prefix}r>`;
}

/** The predominant format of a paragraph; if empty, that of its end. */
export function formatOf({ pieces, properties }: Paragraph, prefix: string): string {
  const texts = pieces.filter(({ kind }) => kind === "text");
  const longest = texts.reduce<Piece | undefined>(
    (best, one) => (best === undefined || one.text.length > best.text.length ? one : best),
    undefined,
  );
  if (longest !== undefined) return untracked(longest.format, prefix);
  return new RegExp(String.raw`<${prefix}rPr>.*</${prefix}rPr>`, "su").exec(untracked(properties, prefix))?.[0] ?? "";
}

/** Properties without those for one place alone: tracked changes, section ends. */
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
