import type { OutputFormat } from "./template.ts";
import { jsonOutput } from "./templates/json-output.ts";

/** An answer in JSON, for the program. */
export const jsonFormat: OutputFormat = { name: "json", template: jsonOutput };
