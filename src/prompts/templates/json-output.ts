import { defineTemplate } from "../template.ts";

/** FORMAT_JSON_OUTPUT: how data is written. */
export const jsonOutput = defineTemplate({
  name: "json_output",
  title: { en: "Format: JSON", zh: "输出格式：JSON" },
  description: "How an answer gives data.",
  content: [
    "Your whole answer is one JSON object that a strict parser can read: names and texts in double quotes, no comments, no comma",
    'after the last entry, no code fence, and not a word before or after it, as in {"name": "value", "list": []}.',
  ].join("\n"),
});
