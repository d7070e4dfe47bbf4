/** A piece of XML: a tag, without the prefix of its name, or the text between tags, with its entities resolved. */
export type XmlPiece =
  | { kind: "open" | "close" | "empty"; name: string; attributes: string }
  | { kind: "text"; text: string };

/** Comments, character data, declarations; a tag; text. */
const pieces =
  /<!--(?:[\s\S]*?-->|[\s\S]*$)|<!\[CDATA\[([\s\S]*?)(?:\]\]>|$)|<[?!][^>]*(?:>|$)|<(\/?)(?:[\w.-]+:)?([\w.-]+)((?:[^<>"']|"[^"]*"|'[^']*')*?)(\/?)>|([^<]+)/gu;

const entities = new Map(Object.entries({ amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" }));

/** The pieces of an XML text, in order; what is no XML is passed over. Entities that a document declares itself are not resolved. */
export function* scanXml(xml: string): Generator<XmlPiece> {
  for (const [, data, slash, name, attributes = "", empty, text] of xml.matchAll(pieces)) {
    if (data !== undefined) yield { kind: "text", text: data };
    else if (text !== undefined) yield { kind: "text", text: plainText(text) };
    else if (name !== undefined) {
      yield { kind: slash === "/" ? "close" : empty === "/" ? "empty" : "open", name, attributes };
    }
  }
}

/** The value of an attribute, by its name without a prefix; `undefined` when it is not there. */
export function attributeOf(attributes: string, name: string): string | undefined {
  const found = new RegExp(String.raw`(?:^|[\s:])${name}\s*=\s*(?:"([^"]*)"|'([^']*)')`, "u").exec(attributes);
  const value = found?.[1] ?? found?.[2];
  return value === undefined ? undefined : plainText(value);
}

function plainText(text: string): string {
  return text.replaceAll(/&(#x[0-9a-f]{1,6}|#\d{1,7}|\w+);/giu, (whole, name: string) => {
    if (!name.startsWith("#")) return entities.get(name) ?? whole;
    const code = /^#x/iu.test(name) ? Number.parseInt(name.slice(2), 16) : Number(name.slice(1));
    return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });
}
