import { defineTemplate } from "../../../src/prompts/template.ts";

/** A report of a session's results. */
export const writeReport = defineTemplate({
  name: "write_report",
  title: { en: "Report", zh: "撰写报告" },
  description: "Writes a report of the work of a session.",
  optional: ["circuit", "design_goals", "metrics", "history"],
  content: [
    "Write a report of the work of this conversation: what was to be reached, what was done, with which results, and what is open.",
    "Circuit: {circuit}",
    "Goals: {design_goals}",
    "Metrics: {metrics}",
    "Tried before: {history}",
    "Look into the files for what you do not know for sure; a number that you have not read is not in the report. The report is your",
    "reply; where the request names a file for it, write it there and say so in one sentence.",
  ].join("\n"),
});
