import type { Syntax } from "../formats/document-thread.ts";

/** Elements that would load something; what stands between their tags stays, where it is there for who cannot load it. */
const loading = new Set(["object", "embed", "video", "audio", "link", "source", "track", "base", "picture"]);
/** Elements that go with all that is in them. */
const whole = new Set(["script", "iframe", "svg"]);
/** Whether the address of a picture is the picture itself, so that nothing has to be fetched. */
export function isOwnPicture(address: string): boolean {
  return /^data:image\/(?:png|jpe?g|gif|bmp);base64,/iu.test(address);
}

/**
 * A text of HTML or Markdown without what would be fetched from somewhere. Pictures leave their words. `pictures` is
 * how many were left out. The time it takes grows with the text, whatever that is.
 */
export function withoutPictures(content: string, syntax: Syntax): { content: string; pictures: number } {
  let pictures = 0;
  const words = (alt: string): string => {
    pictures += 1;
    return alt.trim() === "" ? "" : `[${alt.trim()}]`;
  };
  if (syntax === "html") return { content: plainHtml(content, words), pictures };
  let isCode = false;
  const lines = content.split("\n").map((line) => {
    if (/^\s{0,3}(?:```|~~~)/u.test(line)) isCode = !isCode;
    return isCode ? line : plainLine(line, words);
  });
  return { content: lines.join("\n"), pictures };
}

/** A line of Markdown without pictures. Code in it stays as it is. */
function plainLine(line: string, words: (alt: string) => string): string {
  const kept: string[] = [];
  let at = 0;
  // Looked for again only when it was passed: else each picture would look through the rest of the line.
  let code = line.indexOf("`");
  for (let sign = line.indexOf("!["); sign >= 0; sign = line.indexOf("![", at)) {
    if (code >= 0 && code < at) code = line.indexOf("`", at);
    const codeEnd = code >= 0 && code < sign ? line.indexOf("`", code + 1) : -1;
    if (codeEnd >= 0) {
      kept.push(line.slice(at, codeEnd + 1));
      at = codeEnd + 1;
      continue;
    }
    const middle = line.indexOf("](", sign);
    const end = middle < 0 ? -1 : line.indexOf(")", middle);
    if (end < 0) break;
    kept.push(line.slice(at, sign), words(line.slice(sign + 2, middle)));
    at = end + 1;
  }
  kept.push(line.slice(at));
  return kept.join("");
}

/** HTML without elements that load or run something; `words` makes of a picture's words what stands in its place. */
function plainHtml(html: string, words: (alt: string) => string): string {
  const lower = html.toLowerCase();
  const kept: string[] = [];
  let at = 0;
  for (let begin = html.indexOf("<"); begin >= 0; begin = html.indexOf("<", at)) {
    const name = /^<\/?([a-z][a-z0-9]*)/u.exec(lower.slice(begin, begin + 20))?.[1] ?? "";
    if (name !== "img" && !loading.has(name) && !whole.has(name)) {
      kept.push(html.slice(at, begin + 1));
      at = begin + 1;
      continue;
    }
    kept.push(html.slice(at, begin));
    const end = endOfTag(html, begin + name.length + 1);
    const tag = html.slice(begin, end);
    const isClosing = tag.startsWith("</");
    if (name === "img") kept.push(isOwnPicture(valueOf(tag, "src")) ? tag : words(valueOf(tag, "alt")));
    if (name === "svg" && !isClosing) words("");
    at = whole.has(name) && !isClosing ? endOfElement(lower, name, end) : end;
  }
  kept.push(html.slice(at));
  return kept.join("");
}

/** The place behind a tag; a `>` in quotes is no end of it. The rest of the text, where it has none. */
function endOfTag(text: string, from: number): number {
  for (let at = from; at < text.length; at += 1) {
    const sign = text[at];
    if (sign === ">") return at + 1;
    if ((sign === '"' || sign === "'") && /[=\s]/u.test(text[at - 1] ?? "")) {
      const close = text.indexOf(sign, at + 1);
      if (close < 0) return text.length;
      at = close;
    }
  }
  return text.length;
}

function endOfElement(lower: string, name: string, from: number): number {
  const close = lower.indexOf(`</${name}`, from);
  return close < 0 ? lower.length : endOfTag(lower, close);
}

function valueOf(tag: string, name: string): string {
  const found = new RegExp(String.raw`[\s/]${name}\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]+))`, "iu").exec(tag);
  return found?.[1] ?? found?.[2] ?? found?.[3] ?? "";
}
