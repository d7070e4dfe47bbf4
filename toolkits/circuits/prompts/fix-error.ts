import { defineTemplate } from "../../../src/prompts/template.ts";
import { spiceFormat } from "./output-formats.ts";

/** PROMPT_FIX_ERROR: fixes a circuit that a simulator rejected. */
export const fixError = defineTemplate({
  name: "fix_error",
  title: { en: "Repair of an error", zh: "修复错误" },
  description: "Repairs a circuit that the simulator could not run.",
  required: ["error", "circuit"],
  optional: ["history"],
  format: spiceFormat,
  content: [
    "The simulator could not run the circuit. Find the cause, say it in one sentence, and repair exactly that.",
    "Error: {error}",
    "Circuit: {circuit}",
    "Earlier errors: {history}",
    "Look at the line that is named first, then at nodes without a path to ground, missing models, and values of zero. An error",
    "that came before must not come again.",
  ].join("\n"),
});
