import TurndownService from "turndown";

/** Turns HTML into Markdown for models, which take an asterisk for an asterisk: nothing is escaped. */
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

/** Text without blanks at the ends of lines and with at most one empty line in between, in linear time. */
export function tidyText(text: string): string {
  const lines = text.split("\n").map((line) => line.trimEnd());
  return lines
    .join("\n")
    .replaceAll(/\n{3,}/gu, "\n\n")
    .trim();
}
