import type { OutputFormat } from "../../../src/prompts/template.ts";
import { analysisOutput } from "./analysis-output.ts";
import { spiceOutput } from "./spice-output.ts";

/** A whole circuit in a fenced block. */
export const spiceFormat: OutputFormat = { name: "spice", template: spiceOutput };
/** An assessment of figures. */
export const analysisFormat: OutputFormat = { name: "analysis", template: analysisOutput };
