import { builtInPrompts, type Prompts } from "../../../src/prompts/prompts.ts";
import { namesText } from "./task-progress.ts";
import { defineTemplate } from "../../../src/prompts/template.ts";

/** Follows a reply that skips folders. */
export const folderCheck = defineTemplate({
  name: "folder_check",
  title: { en: "Go on checking folders", zh: "继续检查文件夹" },
  description: "Makes the model go on when it has looked into fewer folders than there are.",
  required: ["progress", "remaining"],
  content: [
    "{progress}",
    "The user asked for every folder. Not checked yet: {remaining}.",
    "Use list_files on these folders now. Do not answer with text alone before all of them are checked.",
  ].join("\n"),
});

/** Makes the model continue if it has not checked all folders. */
export function folderCheckPrompt(
  { progress, remaining }: { progress: string; remaining: readonly string[] },
  prompts: Prompts = builtInPrompts,
): string {
  return prompts.text(folderCheck, { progress, remaining: namesText(remaining) });
}
