import { builtInPrompts, type Prompts } from "../../../src/prompts/prompts.ts";
import { namesText } from "./task-progress.ts";
import { defineTemplate } from "../../../src/prompts/template.ts";

/** Follows a reply that leaves files unmoved. */
export const fileMove = defineTemplate({
  name: "file_move",
  title: { en: "Go on moving files", zh: "继续移动文件" },
  description: "Makes the model go on when files that it was to move still lie where they were.",
  required: ["progress", "remaining"],
  content: [
    "{progress}",
    "The user asked for these files too: {remaining}.",
    "Use move_file for them now, and go on if your last reply was cut off. Do not answer with text alone before all of them",
    "are moved. If one cannot be moved, say which one and why.",
  ].join("\n"),
});

/** Makes the model continue if files to move are still in place. */
export function fileMovePrompt(
  { progress, remaining }: { progress: string; remaining: readonly string[] },
  prompts: Prompts = builtInPrompts,
): string {
  return prompts.text(fileMove, { progress, remaining: namesText(remaining) });
}
