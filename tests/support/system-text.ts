import { systemParts, textOfParts } from "../../src/prompts/injector.ts";

/** The text of a system message; see `systemParts`. */
export function systemText(...parts: Parameters<typeof systemParts>): string {
  return textOfParts(systemParts(...parts));
}
