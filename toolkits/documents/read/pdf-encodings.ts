/**
 * Chinese, Japanese and Korean text of a PDF may use an encoding that the file only names (ISO 32000-1, 9.7.5.2).
 * Adobe's tables are 1.6 MB and not part of our reader, so they are built here from the runtime's character sets. A
 * table maps a code to a glyph number (CID) and from there to Unicode. Only the text is wanted, so numbers beyond the
 * collection's stand for characters; real CIDs are reported as �.
 */

/** A glyph collection: real CIDs are below `first`, where ours begin; half-width Latin letters. */
interface Collection {
  first: number;
  halfWidth: number;
  /** Encodings by the name before `-H` and `-V`: the character set, or `unicode`, and the position of Latin letters. */
  encodings: Readonly<Record<string, { set: CharacterSet; latin: "half" | "proportional" | "none" }>>;
}
type CharacterSet = "unicode" | "gbk" | "big5" | "shift_jis" | "euc-jp" | "jis" | "euc-kr";

const half = (set: CharacterSet) => ({ set, latin: "half" as const });
const proportional = (set: CharacterSet) => ({ set, latin: "proportional" as const });

const collections: Readonly<Record<string, Collection>> = {
  GB1: {
    first: 31_000,
    halfWidth: 814,
    encodings: {
      "GB-EUC": half("gbk"),
      "GBpc-EUC": proportional("gbk"),
      "GBK-EUC": half("gbk"),
      "GBKp-EUC": proportional("gbk"),
      "UniGB-UCS2": proportional("unicode"),
      "UniGB-UTF16": proportional("unicode"),
    },
  },
  CNS1: {
    first: 19_200,
    halfWidth: 13_648,
    encodings: {
      B5pc: proportional("big5"),
      "ETen-B5": half("big5"),
      "ETenms-B5": proportional("big5"),
      "HKscs-B5": proportional("big5"),
      "UniCNS-UCS2": proportional("unicode"),
      "UniCNS-UTF16": proportional("unicode"),
    },
  },
  Japan1: {
    first: 23_100,
    halfWidth: 231,
    encodings: {
      "90ms-RKSJ": half("shift_jis"),
      "90msp-RKSJ": proportional("shift_jis"),
      EUC: half("euc-jp"),
      "": { set: "jis", latin: "none" },
      "UniJIS-UCS2": proportional("unicode"),
      "UniJIS-UCS2-HW": half("unicode"),
      "UniJIS-UTF16": proportional("unicode"),
      "UniJIS2004-UTF16": proportional("unicode"),
    },
  },
  Korea1: {
    first: 18_400,
    halfWidth: 8094,
    encodings: {
      "KSC-EUC": half("euc-kr"),
      "KSCpc-EUC": proportional("euc-kr"),
      "KSCms-UHC": proportional("euc-kr"),
      "KSCms-UHC-HW": half("euc-kr"),
      "UniKS-UCS2": proportional("unicode"),
      "UniKS-UTF16": proportional("unicode"),
    },
  },
};

/** One-byte codes besides ASCII, and first and second bytes of two-byte ones. */
const codes: Readonly<
  Record<
    Exclude<CharacterSet, "unicode">,
    { single: [number, number][]; lead: [number, number]; trail: [number, number] }
  >
> = {
  gbk: { single: [], lead: [0x81, 0xfe], trail: [0x40, 0xfe] },
  big5: { single: [], lead: [0x81, 0xfe], trail: [0x40, 0xfe] },
  shift_jis: { single: [[0xa1, 0xdf]], lead: [0x81, 0xfc], trail: [0x40, 0xfc] },
  "euc-jp": { single: [], lead: [0x8e, 0xfe], trail: [0xa1, 0xfe] },
  jis: { single: [], lead: [0x21, 0x7e], trail: [0x21, 0x7e] },
  "euc-kr": { single: [], lead: [0x81, 0xfe], trail: [0x41, 0xfe] },
};

/** Characters with a CID of ours, in order: letters, symbols, and the scripts; Hangul only if there is room. */
const characters: readonly [number, number][] = [
  [0x20, 0x4ff],
  [0x2000, 0x33ff],
  [0x4e00, 0x9fff],
  [0xf900, 0xfaff],
  [0xff00, 0xffef],
  [0xac00, 0xd7a3],
];
const maxNumbers = 0xffff;
/** A real CID reported as unknown in every collection. */
const unknownNumber = 96;
const [firstLetter, lastLetter] = [0x20, 0x7e];

/** A table in PostScript, as the reader expects it; `undefined` for an unknown name. */
export function encodingTable(name: string): string | undefined {
  const collection = collections[/^Adobe-(\w+)-UCS2$/u.exec(name)?.[1] ?? ""];
  if (collection !== undefined) return toUnicode(collection);
  const [, base = "", direction] = /^(?:(.+)-)?([HV])$/u.exec(name) ?? [];
  if (direction === undefined) return undefined;
  for (const one of Object.values(collections)) {
    const encoding = Object.hasOwn(one.encodings, base) ? one.encodings[base] : undefined;
    if (encoding !== undefined) return fromCodes(one, encoding, direction === "V");
  }
  return undefined;
}

function fromCodes(
  collection: Collection,
  { set, latin }: Collection["encodings"][string],
  isVertical: boolean,
): string {
  const letters = latin === "half" ? collection.halfWidth : 1;
  const width = set === "unicode" ? 4 : 2;
  const lines = latin === "none" ? [] : [`<${hex(firstLetter, width)}> <${hex(lastLetter, width)}> ${letters}`];
  const spaces: string[] = [];
  if (set === "unicode") {
    spaces.push("<0000> <ffff>");
    for (const [from, to, number] of numbered(collection)) {
      const begin = Math.max(from, lastLetter + 1);
      lines.push(`<${hex(begin, 4)}> <${hex(to, 4)}> ${number + begin - from}`);
    }
  } else {
    const { single, lead, trail } = codes[set];
    if (set !== "jis") spaces.push("<00> <80>");
    for (const [from, to] of single) spaces.push(`<${hex(from, 2)}> <${hex(to, 2)}>`);
    spaces.push(`<${hex(lead[0], 2)}${hex(trail[0], 2)}> <${hex(lead[1], 2)}${hex(trail[1], 2)}>`);
    for (const [code, character] of charactersOf(set)) {
      const number = character === undefined ? undefined : numberOf(character, collection);
      lines.push(`<${code}> <${code}> ${number ?? unknownNumber}`);
    }
  }
  const mode = isVertical ? "/WMode 1 def\n" : "";
  return `${mode}${block("codespacerange", spaces)}${block("cidrange", lines)}endcmap\n`;
}

/** All codes of a character set besides ASCII, with their known characters. */
function* charactersOf(
  set: Exclude<CharacterSet, "unicode">,
): Generator<[code: string, character: number | undefined]> {
  const { single, lead, trail } = codes[set];
  const decoder = new TextDecoder(set === "jis" ? "euc-jp" : set);
  // JIS uses the lower seven bits of EUC.
  const shift = set === "jis" ? 0x80 : 0;
  const read = (...bytes: number[]): number | undefined => {
    const text = decoder.decode(Uint8Array.from(bytes, (byte) => byte + shift));
    return text.length === 1 && text !== "\ufffd" ? text.charCodeAt(0) : undefined;
  };
  for (const [from, to] of single) {
    for (let byte = from; byte <= to; byte += 1) {
      yield [hex(byte, 2), read(byte)];
    }
  }
  for (let first = lead[0]; first <= lead[1]; first += 1) {
    for (let second = trail[0]; second <= trail[1]; second += 1) {
      yield [`${hex(first, 2)}${hex(second, 2)}`, read(first, second)];
    }
  }
}

/** The CIDs of the tables above, and the collection's own letters; all others are reported as unknown. */
function toUnicode(collection: Collection): string {
  const unknown = (from: number, to: number): string =>
    `<${hex(from, 4)}> <${hex(to, 4)}> [${"<fffd>".repeat(Math.max(0, to - from + 1))}]`;
  const letters = (from: number): string =>
    `<${hex(from, 4)}> <${hex(from + lastLetter - firstLetter, 4)}> <${hex(firstLetter, 4)}>`;
  const lines = [
    unknown(1, collection.first - 1),
    letters(1),
    letters(collection.halfWidth),
    ...numbered(collection).map(([from, to, number]) => {
      return `<${hex(number, 4)}> <${hex(number + to - from, 4)}> <${hex(from, 4)}>`;
    }),
  ];
  return `${block("codespacerange", ["<0000> <ffff>"])}${block("bfrange", lines)}endcmap\n`;
}

/** The characters of a collection, with the first CID of each range. */
function numbered({ first }: Collection): [from: number, to: number, number: number][] {
  const found: [number, number, number][] = [];
  let number = first;
  for (const [from, to] of characters) {
    if (number + to - from > maxNumbers) break;
    found.push([from, to, number]);
    number += to - from + 1;
  }
  return found;
}

function numberOf(character: number, collection: Collection): number | undefined {
  const range = numbered(collection).find(([from, to]) => character >= from && character <= to);
  return range === undefined ? undefined : range[2] + character - range[0];
}

function block(what: string, lines: readonly string[]): string {
  return `${lines.length} begin${what}\n${lines.join("\n")}\nend${what}\n`;
}

function hex(value: number, digits: number): string {
  return value.toString(16).padStart(digits, "0");
}
