import { defineTemplate } from "../../../src/prompts/template.ts";

/** FORMAT_ANALYSIS_OUTPUT: the format of a report. */
export const analysisOutput = defineTemplate({
  name: "analysis_output",
  title: { en: "Format: report", zh: "输出格式：分析报告" },
  description: "How an answer gives an analysis.",
  content: [
    "Write the report in this order, a short paragraph or a list each:",
    "1. Result: which goals are met and which are not, with the measured number beside the wanted one.",
    "2. Cause: why each missed goal is missed.",
    "3. Next step: at most three changes, the one that promises most first, with the effect you expect.",
  ].join("\n"),
});
