import { AppError } from "@millrace/engine/errors/errors";
import { joined } from "./office-text.ts";
import { counted, type DocumentText } from "../formats/document-format.ts";

/** Groups without text: fonts, colours, styles, metadata. Groups that begin with `\*` are optional. */
const leftOut =
  /^(?:fonttbl|colortbl|stylesheet|info|listtable|listoverridetable|generator|themedata|datastore|xmlnstbl|pict|header|footer|headerf|footerf|object)$/u;
const signs = new Map(
  Object.entries({
    par: "\n\n",
    line: "\n",
    tab: "\t",
    row: "\n",
    cell: " | ",
    emdash: "—",
    endash: "–",
    lquote: "‘",
    rquote: "’",
    ldblquote: "“",
    rdblquote: "”",
    bullet: "•",
  }),
);

/** The state that a brace group changes and restores at its end. */
interface Group {
  isShown: boolean;
  /** Fallback characters after each `\u` for programs without Unicode. */
  skip: number;
}

/** The state of reading a document. */
interface Reading {
  text: string;
  groups: Group[];
  pictures: number;
  /** Characters to skip. */
  toSkip: number;
  /** Bytes collected so far; several may form one character. */
  bytes: number[];
  decoder: InstanceType<typeof TextDecoder>;
}

/** A control word with its number; an encoded character; a literal symbol; a brace; text. */
const pieces = /\\([a-z]+)(-?\d+)? ?|\\'([0-9a-f]{2})|\\([^a-z0-9\r\n])|([{}])|([^\\{}\r\n]+)/giu;

/** The text of a Rich Text document. Throws `invalid_format` for anything else. */
export function richText(file: Uint8Array): DocumentText {
  const source = Buffer.from(file).toString("latin1");
  if (!source.startsWith("{\\rtf")) {
    throw new AppError("invalid_format", "It is not a Rich Text document, whatever its name says.", {
      suggestion: "Look at what the file really is, or ask the user.",
    });
  }
  const reading: Reading = { text: "", groups: [], pictures: 0, toSkip: 0, bytes: [], decoder: decoderOf(source) };
  for (const [, word, number, code, sign, brace, plain] of source.matchAll(pieces)) {
    if (code !== undefined) takeCode(reading, code);
    else {
      endCodes(reading);
      if (brace === "{") reading.groups.push({ ...groupOf(reading) });
      else if (brace === "}") reading.groups.pop();
      else if (sign !== undefined) takeSign(reading, sign);
      else if (plain !== undefined) takeText(reading, plain);
      else if (word !== undefined) takeWord(reading, word, number);
    }
  }
  endCodes(reading);
  const lines = reading.text.split("\n").map((line) => line.trimEnd());
  return { text: joined(lines), left_out: counted(reading.pictures, "picture") };
}

function groupOf({ groups }: Reading): Group {
  return groups.at(-1) ?? { isShown: true, skip: 1 };
}

function takeCode(reading: Reading, code: string): void {
  if (reading.toSkip > 0) reading.toSkip -= 1;
  else if (groupOf(reading).isShown) reading.bytes.push(Number.parseInt(code, 16));
}

function endCodes(reading: Reading): void {
  reading.text += reading.decoder.decode(Uint8Array.from(reading.bytes));
  reading.bytes = [];
}

function takeSign(reading: Reading, sign: string): void {
  const group = groupOf(reading);
  if (sign === "*") group.isShown = false;
  else if (group.isShown) reading.text += sign === "~" ? " " : /[{}\\]/u.test(sign) ? sign : "";
}

function takeText(reading: Reading, plain: string): void {
  const rest = plain.slice(Math.min(reading.toSkip, plain.length));
  reading.toSkip -= plain.length - rest.length;
  if (groupOf(reading).isShown) reading.text += rest;
}

function takeWord(reading: Reading, word: string, number: string | undefined): void {
  const group = groupOf(reading);
  if (word === "pict") reading.pictures += 1;
  if (leftOut.test(word)) group.isShown = false;
  else if (word === "uc") group.skip = Number(number ?? 1);
  else if (word === "u" && group.isShown) {
    reading.text += String.fromCharCode((Number(number) + 65_536) % 65_536);
    reading.toSkip = group.skip;
  } else if (group.isShown) reading.text += signs.get(word) ?? "";
}

/** The decoder for the document's code page. */
function decoderOf(source: string): InstanceType<typeof TextDecoder> {
  const page = /\\ansicpg(\d+)/u.exec(source)?.[1] ?? "1252";
  const label = { "936": "gb18030", "950": "big5", "932": "shift_jis", "949": "euc-kr", "65001": "utf-8" }[page];
  try {
    return new TextDecoder(label ?? `windows-${page}`);
  } catch {
    return new TextDecoder("windows-1252");
  }
}
