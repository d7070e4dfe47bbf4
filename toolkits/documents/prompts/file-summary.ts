import { builtInPrompts, type Prompts } from "../../../src/prompts/prompts.ts";
import { defineTemplate } from "../../../src/prompts/template.ts";

/** Requests the summary of a text that was read. */
export const fileSummary = defineTemplate({
  name: "file_summary",
  title: { en: "Summary of a text", zh: "文件内容总结" },
  description: "Asks for what a text says when it was read but not told.",
  content: [
    "You have read the text. Now tell the user in two to four plain sentences, in their language, its main content, its key",
    "points, and what kind of text it is. No headings, no lists, and do nothing more.",
  ].join("\n"),
});

/** Requests a text's content if it was read but not reported. */
export function fileSummaryPrompt(prompts: Prompts = builtInPrompts): string {
  return prompts.text(fileSummary, {});
}
