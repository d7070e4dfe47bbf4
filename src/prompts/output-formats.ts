import { analysisOutput } from "../../toolkits/circuits/prompts/analysis-output.ts";
import { jsonOutput } from "./templates/json-output.ts";
import { spiceOutput } from "../../toolkits/circuits/prompts/spice-output.ts";

/** The blocks that say how an answer is written. */
export const outputFormats = { json: jsonOutput, spice: spiceOutput, analysis: analysisOutput };
/** The name of one of `outputFormats`. */
export type OutputFormat = keyof typeof outputFormats;

/** Which block follows which template. What is not here has none: conversation, summaries, free work. */
export const templateFormats: Readonly<Record<string, OutputFormat | undefined>> = {
  extract_design_goals: "json",
  intent: "json",
  initial_design: "spice",
  optimize_parameters: "spice",
  fix_error: "spice",
  execute_instruction: "spice",
  analyze_simulation: "analysis",
};
