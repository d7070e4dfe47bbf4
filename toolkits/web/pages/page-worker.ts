import { parentPort, workerData } from "node:worker_threads";
import { z } from "zod";
import { createMarkdownWriter, tidyText } from "../../../src/tools/workspace/html-to-markdown.ts";

/** The used part of an element; the library's types assume a browser. */
interface PageElement {
  nodeName: string;
  textContent: string | null;
  firstChild: unknown;
  parentNode: { nodeName: string } | null;
  getAttribute(name: string): string | null;
}

/** Elements outside the page's own text: scripts, forms, and site navigation. */
const leftOut = new Set(
  (
    "SCRIPT STYLE NOSCRIPT TEMPLATE IFRAME OBJECT EMBED SVG CANVAS AUDIO VIDEO LINK META BUTTON SELECT INPUT TEXTAREA NAV FOOTER " +
    "ASIDE DIALOG"
  ).split(" "),
);

const { html, base } = z.object({ html: z.string(), base: z.string() }).parse(workerData);
const links = new Set<string>();
/** Maximum links. */
const maxLinks = 500;
let title = "";

/** Hidden elements may contain instructions for models alone. */
function isHidden(element: PageElement): boolean {
  const style = element.getAttribute("style") ?? "";
  return element.getAttribute("hidden") !== null || /display\s*:\s*none|visibility\s*:\s*hidden/iu.test(style);
}

function linkOf(element: PageElement): string | undefined {
  const href = element.getAttribute("href") ?? "";
  if (!URL.canParse(href, base)) return undefined;
  const url = new URL(href, base);
  return url.protocol === "http:" || url.protocol === "https:" ? url.href : undefined;
}

const service = createMarkdownWriter();
service.addRule("title", {
  filter: (element: PageElement) => element.nodeName === "TITLE",
  replacement: (content) => {
    title ||= content.replaceAll(/\s+/gu, " ").trim();
    return "";
  },
});
service.addRule("link", {
  filter: (element: PageElement) => element.nodeName === "A",
  replacement: (content, element: PageElement) => {
    const text = content.replaceAll(/\s+/gu, " ").trim();
    const link = linkOf(element);
    if (link !== undefined && links.size < maxLinks) links.add(link);
    return text === "" || link === undefined ? text : `[${text}](${link})`;
  },
});
service.addRule("image", {
  filter: (element: PageElement) => element.nodeName === "IMG",
  replacement: (_, element: PageElement) => {
    const words = (element.getAttribute("alt") ?? "").trim();
    return words === "" ? "" : `[image: ${words}]`;
  },
});
service.addRule("cell", {
  filter: (element: PageElement) => element.nodeName === "TD" || element.nodeName === "TH",
  replacement: (content) => ` ${content.replaceAll(/\s+/gu, " ").trim()} |`,
});
service.addRule("row", {
  filter: (element: PageElement) => element.nodeName === "TR",
  replacement: (content) => (content.trim() === "" ? "" : `|${content}\n`),
});
service.addRule("leftOut", {
  filter: (element: PageElement) => leftOut.has(element.nodeName.toUpperCase()) || isHidden(element),
  replacement: () => "",
});

const text = tidyText(service.turndown(html));
parentPort?.postMessage({ title, text, links: [...links] });
