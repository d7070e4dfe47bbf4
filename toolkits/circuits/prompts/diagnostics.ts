import { defineTemplate } from "../../../src/prompts/template.ts";

/** Errors of the current circuit or file. */
export const diagnostics = defineTemplate({
  name: "diagnostics",
  title: { en: "Diagnostics", zh: "诊断信息" },
  description: "Errors that are known at present.",
  optional: ["syntax_errors", "simulation_errors", "earlier_errors"],
  content: ["Syntax: {syntax_errors}", "Simulation: {simulation_errors}", "Errors before: {earlier_errors}"].join("\n"),
});
