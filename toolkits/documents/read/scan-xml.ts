import { Tokenizer } from "htmlparser2";

/** A tag's attributes, by name without prefix. */
export type XmlAttributes = ReadonlyMap<string, string>;

/** A piece of XML: a tag, or text between tags. Names have no prefix, entities are resolved. */
export type XmlPiece =
  | { kind: "open" | "close" | "empty"; name: string; attributes: XmlAttributes }
  | { kind: "text"; text: string };

/** Chunk size for reading, so that a long text is not held twice. */
const chunkLength = 65_536;
const noAttributes: XmlAttributes = new Map();

/**
 * The pieces of an XML text, in order; invalid XML is skipped. A document's own entities are not resolved. Uses only
 * the tokenizer: the parser around it searches the list of open tags, which is slow in nested documents.
 */
export function* scanXml(xml: string): Generator<XmlPiece> {
  let pieces: XmlPiece[] = [];
  let text = "";
  let [tag, attribute, value] = ["", "", ""];
  let attributes = new Map<string, string>();
  const add = (kind: "open" | "close" | "empty", name: string, given = noAttributes): void => {
    if (text !== "") pieces.push({ kind: "text", text });
    text = "";
    pieces.push({ kind, name, attributes: given });
  };
  const ignore = (): void => undefined;
  const tokenizer = new Tokenizer(
    { xmlMode: true, decodeEntities: true },
    {
      ontext: (start, end) => (text += xml.slice(start, end)),
      ontextentity: (code) => (text += String.fromCodePoint(code)),
      oncdata: (start, end, endOffset) => (text += xml.slice(start, end - endOffset)),
      onopentagname(start, end) {
        tag = localName(xml.slice(start, end));
        attributes = new Map();
      },
      onattribname: (start, end) => (attribute = xml.slice(start, end)),
      onattribdata: (start, end) => (value += xml.slice(start, end)),
      onattribentity: (code) => (value += String.fromCodePoint(code)),
      onattribend() {
        const name = localName(attribute);
        if (!attribute.startsWith("xmlns:") && !attributes.has(name)) attributes.set(name, value);
        value = "";
      },
      onopentagend: () => add("open", tag, attributes),
      onselfclosingtag: () => add("empty", tag, attributes),
      onclosetag: (start, end) => add("close", localName(xml.slice(start, end))),
      oncomment: ignore,
      ondeclaration: ignore,
      onprocessinginstruction: ignore,
      onend: ignore,
    },
  );
  for (let at = 0; at < xml.length; at += chunkLength) {
    tokenizer.write(xml.slice(at, at + chunkLength));
    yield* pieces;
    pieces = [];
  }
  tokenizer.end();
  yield* pieces;
  if (text !== "") yield { kind: "text", text };
}

function localName(name: string): string {
  return name.slice(name.indexOf(":") + 1).trim();
}
