import { builtInPrompts, type Prompts } from "../prompts.ts";
import { defineTemplate } from "../template.ts";

/** The remaining room, for a model that may prune by itself. */
export const pruneNoteTemplate = defineTemplate({
  name: "prune_note",
  title: { en: "Room in the conversation", zh: "对话剩余空间" },
  description: "Tells a model that can leave messages out how full the conversation is.",
  required: ["tokens", "zone", "tool"],
  content:
    "Note: the conversation takes about {tokens} of the {zone} tokens that it may take; beyond that, old tool results are " +
    "cleared. {tool} leaves out what you do not need, by the ids in the hints. Never write hints yourself.",
});

/** How full the conversation is, for a model that may prune by itself. */
export function pruneNote(
  about: { tokens: number; zone: number; tool: string },
  prompts: Prompts = builtInPrompts,
): string {
  return prompts.text(pruneNoteTemplate, about);
}
