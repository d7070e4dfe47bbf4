import { defineTemplate } from "./template.ts";

/** What runs and has run in the background (table 18.7). */
export const backgroundSummary = defineTemplate({
  name: "background_summary",
  title: { en: "Background work", zh: "后台任务" },
  description: "What runs in the background, as a fact.",
  required: ["summary"],
  content: "Background work now: {summary}",
});
