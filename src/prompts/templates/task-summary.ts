import { builtInPrompts, type Prompts } from "../prompts.ts";
import { defineTemplate } from "../template.ts";

/** The one summary at the end of a task. */
export const taskSummary = defineTemplate({
  name: "task_summary",
  title: { en: "Summary of a task", zh: "任务总结" },
  description: "Asks for the one short summary at the end of a task.",
  content: [
    "All of it is done. Now tell the user in two or three plain sentences, in their language, what was done and how, what has",
    "changed by it, and what they may want to do next, if anything. Say how many files it was. No headings, no lists, and do",
    "nothing more.",
  ].join("\n"),
});

/** Asks for the one summary at the end of a task. */
export function taskSummaryPrompt(prompts: Prompts = builtInPrompts): string {
  return prompts.text(taskSummary, {});
}
