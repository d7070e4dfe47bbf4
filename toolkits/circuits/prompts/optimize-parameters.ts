import { defineTemplate } from "../../../src/prompts/template.ts";
import { spiceFormat } from "./output-formats.ts";

/** PROMPT_OPTIMIZE_PARAMETERS: better component values. */
export const optimizeParameters = defineTemplate({
  name: "optimize_parameters",
  title: { en: "Better parameters", zh: "优化参数" },
  description: "Changes component values so that more goals are met.",
  required: ["circuit", "metrics", "design_goals"],
  optional: ["history"],
  format: spiceFormat,
  content: [
    "Change component values so that more of the goals are met. Keep the topology, change at most three components at a time, and",
    "say for each which goal it helps and what it costs.",
    "Circuit: {circuit}",
    "Metrics: {metrics}",
    "Goals: {design_goals}",
    "Tried before: {history}",
    "Do not return to values that were tried before without result.",
  ].join("\n"),
});
