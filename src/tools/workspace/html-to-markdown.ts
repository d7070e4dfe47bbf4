import TurndownService from "turndown";

/** Converts HTML to Markdown for models, which need no escaping. */
export function createMarkdownWriter(): TurndownService {
  const service = new TurndownService({
    headingStyle: "atx",
    codeBlockStyle: "fenced",
    bulletListMarker: "-",
    hr: "---",
  });
  service.escape = (text) => text;
  return service;
}

/** Removes trailing whitespace and repeated empty lines, in linear time. */
export function tidyText(text: string): string {
  const lines = text.split("\n").map((line) => line.trimEnd());
  return lines
    .join("\n")
    .replaceAll(/\n{3,}/gu, "\n\n")
    .trim();
}
