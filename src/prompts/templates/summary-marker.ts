import { defineTemplate } from "../template.ts";

/** What stands before the summary of older messages. */
export const summaryMarker = defineTemplate({
  name: "summary_marker",
  title: { en: "Before a summary", zh: "摘要标记" },
  description: "Tells that older messages are replaced by a summary.",
  required: ["summary"],
  content: [
    "The conversation before this point is given as a summary. The messages themselves are kept.",
    "{summary}",
  ].join("\n"),
});
