import { systemParts, textOfParts } from "../../src/prompts/injector.ts";
import type { Template } from "../../src/prompts/template.ts";

/** Whether a text holds a prompt, known by its first line as far as nothing is filled in there. */
export function hasPrompt(text: string, { content }: Template): boolean {
  const [beginning = ""] = content.split(/\n|\{/u);
  return text.includes(beginning);
}

/** The text of a system message; see `systemParts`. */
export function systemText(...parts: Parameters<typeof systemParts>): string {
  return textOfParts(systemParts(...parts));
}
