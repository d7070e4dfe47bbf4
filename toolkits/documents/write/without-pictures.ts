import type { Syntax } from "../formats/document-thread.ts";

/** Elements that load something; their fallback content stays. */
const loading = new Set(["object", "embed", "video", "audio", "link", "source", "track", "base", "picture"]);
/** Elements removed with their content. */
const whole = new Set(["script", "iframe", "svg"]);
/** Whether a picture is embedded in its URL, so that nothing is fetched. */
export function isOwnPicture(address: string): boolean {
  return /^data:image\/(?:png|jpe?g|gif|bmp);base64,/iu.test(address);
}

/**
 * Removes everything from HTML or Markdown that would be fetched. Pictures leave their alternative text; `pictures`
 * counts them. Runs in linear time.
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

/** A Markdown line without pictures. Code in it stays. */
function plainLine(line: string, words: (alt: string) => string): string {
  const kept: string[] = [];
  let at = 0;
  // Searched again only once passed: otherwise each picture would scan the rest of the line.
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

/** HTML without elements that load or run something; `words` converts a picture's alternative text. */
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

/** The position after a tag, ignoring a quoted `>`; the text's end if it is never closed. */
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
