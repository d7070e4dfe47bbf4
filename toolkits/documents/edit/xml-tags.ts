import { AppError } from "@millrace/engine/errors/errors";

/** An XML tag and its position. */
export interface XmlTag {
  kind: "open" | "close" | "empty";
  name: string;
  start: number;
  end: number;
}

/** Markup that is not a tag: its beginning and end. */
const others = [
  ["<!--", "-->"],
  ["<![CDATA[", "]]>"],
  ["<?", "?>"],
] as const;

/** The tags of an XML text, in order. Throws `invalid_format` for invalid XML. Linear time. */
export function* xmlTags(xml: string): Generator<XmlTag> {
  const tag = /<(\/?)([^\s"'<>/]+)(?:[^"'<>]|"[^"]*"|'[^']*')*>/uy;
  for (let start = xml.indexOf("<"); start !== -1;) {
    const other = others.find(([begin]) => xml.startsWith(begin, start));
    let end: number;
    if (other === undefined) {
      tag.lastIndex = start;
      const [whole = "", slash = "", name = ""] = tag.exec(xml) ?? [];
      if (whole === "") throw notXml();
      end = start + whole.length;
      yield { kind: slash === "/" ? "close" : whole.endsWith("/>") ? "empty" : "open", name, start, end };
    } else {
      const close = xml.indexOf(other[1], start + other[0].length);
      if (close === -1) throw notXml();
      end = close + other[1].length;
    }
    start = xml.indexOf("<", end);
  }
}

function notXml(): AppError {
  return new AppError("invalid_format", "It cannot be edited: its parts are damaged.", {
    suggestion: "Ask the user to open it in a word processor and to save it again.",
  });
}

const named: Record<string, string> = { lt: "<", gt: ">", amp: "&", quot: '"', apos: "'" };

/** The text between two tags, unescaped. */
export function xmlText(source: string): string {
  return source.replaceAll(
    /<!--[\s\S]*?-->|<!\[CDATA\[([\s\S]*?)\]\]>|&(?:#x([\da-f]+)|#(\d+)|(\w+));/giu,
    (whole, data?: string, hex?: string, decimal?: string, name?: string) => {
      if (whole.startsWith("<")) return data ?? "";
      if (name !== undefined) return named[name] ?? whole;
      const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
      return code <= 0x10_ff_ff ? String.fromCodePoint(code) : "";
    },
  );
}

/** Text escaped for XML. */
export function xmlEscaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
