import { createMarkdownWriter, tidyText } from "../../../src/tools/workspace/html-to-markdown.ts";

/** The used part of an element; the library's types assume a browser. */
interface HtmlElement {
  nodeName: string;
  textContent: string | null;
  firstChild: unknown;
  childNodes: ArrayLike<HtmlElement>;
  parentNode: HtmlElement | null;
  previousSibling: HtmlElement | null;
  getAttribute(name: string): string | null;
}

const service = createMarkdownWriter();

const named =
  (...names: string[]) =>
  ({ nodeName }: HtmlElement) =>
    names.includes(nodeName);

service.addRule("link", {
  filter: named("A"),
  replacement: (content, element: HtmlElement) => {
    const target = element.getAttribute("href") ?? "";
    // Bookmarks and links within the document lead nowhere in its text.
    return content === "" || target === "" || target.startsWith("#") ? content : `[${content}](${target})`;
  },
});
service.addRule("picture", {
  filter: named("IMG"),
  replacement: (_, element: HtmlElement) => {
    const words = (element.getAttribute("alt") ?? "").replaceAll(/\s+/gu, " ").trim();
    return words === "" ? "[picture]" : `[picture: ${words}]`;
  },
});
service.addRule("listing", {
  filter: named("PRE"),
  replacement: (_, element: HtmlElement) => `\n\n\`\`\`\n${linesOf(element)}\n\`\`\`\n\n`,
});
service.addRule("gone", { filter: named("S", "DEL", "STRIKE"), replacement: (content) => `~~${content}~~` });
// Without a mark, 10² would become 102; note marks are clear by themselves.
service.addRule("raised", {
  filter: named("SUP", "SUB"),
  replacement: (content, element: HtmlElement) => {
    const name = element.nodeName.toLowerCase();
    return content === "" || /^\[\d+\]$/u.test(content) ? content : `<${name}>${content}</${name}>`;
  },
});
service.addRule("cell", {
  filter: named("TD", "TH"),
  replacement: (content, element: HtmlElement) => {
    const text = content
      .trim()
      .replaceAll("|", String.raw`\|`)
      .replaceAll(/\s*\n\s*/gu, "<br>");
    const width = Math.min(100, Number(element.getAttribute("colspan") ?? 1) || 1);
    return ` ${text} |${"  |".repeat(width - 1)}`;
  },
});
service.addRule("row", {
  filter: named("TR"),
  replacement: (content, element: HtmlElement) => {
    const row = `|${content.trimEnd()}\n`;
    if (!isFirstRow(element)) return row;
    const columns = content.replaceAll(String.raw`\|`, "").split("|").length - 1;
    return `${row}|${" --- |".repeat(columns)}\n`;
  },
});
service.addRule("rows", { filter: named("THEAD", "TBODY", "TFOOT"), replacement: (content) => content });
service.addRule("table", { filter: named("TABLE"), replacement: (content) => `\n\n${content.trim()}\n\n` });

/** A listing's text, unchanged. */
function linesOf(element: HtmlElement): string {
  if (element.nodeName === "BR") return "\n";
  const parts = Array.from(element.childNodes);
  return parts.length === 0 ? (element.textContent ?? "") : parts.map(linesOf).join("");
}

/** Markdown tables have one header row, the first. */
function isFirstRow(row: HtmlElement): boolean {
  const section = row.parentNode;
  return row.previousSibling === null && (section?.nodeName === "TABLE" || section?.previousSibling === null);
}

/** HTML as Markdown, including tables. */
export function htmlAsMarkdown(html: string): string {
  const text = tidyText(service.turndown(html));
  return text === "" ? "" : `${text}\n`;
}
