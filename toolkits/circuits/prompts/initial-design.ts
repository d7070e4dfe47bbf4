import { defineTemplate } from "../../../src/prompts/template.ts";
import { spiceFormat } from "./output-formats.ts";

/** PROMPT_INITIAL_DESIGN: the first netlist. */
export const initialDesign = defineTemplate({
  name: "initial_design",
  title: { en: "First circuit", zh: "初始设计" },
  description: "Asks for a first circuit that can reach the design goals.",
  required: ["design_goals"],
  optional: ["circuit_type", "user_requirement", "context"],
  format: spiceFormat,
  content: [
    "Design a circuit that can reach the goals below. Choose the simplest topology that has a fair chance, say in two sentences why",
    "it was chosen, and work out its component values by hand calculation before you write it down.",
    "Goals: {design_goals}",
    "Kind of circuit: {circuit_type}",
    "What the user said: {user_requirement}",
    "Context: {context}",
    "Make it complete: supplies, sources, models, analyses, and a measurement for each goal.",
  ].join("\n"),
});
