import { defineTemplate } from "../../../src/prompts/template.ts";
import { analysisFormat } from "./output-formats.ts";

/** PROMPT_ANALYZE_SIMULATION: compares a simulation with the goals. */
export const analyzeSimulation = defineTemplate({
  name: "analyze_simulation",
  title: { en: "Analysis of a simulation", zh: "分析仿真结果" },
  description: "Compares the metrics of a simulation with the design goals.",
  required: ["metrics", "design_goals"],
  optional: ["circuit", "history"],
  format: analysisFormat,
  content: [
    "Compare the metrics of the simulation with the goals, and find out which part of the circuit limits each goal that is missed.",
    "Metrics: {metrics}",
    "Goals: {design_goals}",
    "Circuit: {circuit}",
    "Earlier rounds: {history}",
    "Trust only the numbers given. A metric that is missing was not measured: say so, do not guess it.",
  ].join("\n"),
});
