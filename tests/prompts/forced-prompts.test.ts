import { describe, expect, it } from "vitest";
import { clarifyPrompt } from "../../src/prompts/templates/clarify.ts";
import { emptyReplyPrompt } from "../../src/prompts/templates/empty-reply.ts";
import { fileMovePrompt } from "../../src/prompts/templates/file-move.ts";
import { fileSummaryPrompt } from "../../src/prompts/templates/file-summary.ts";
import { folderCheckPrompt } from "../../src/prompts/templates/folder-check.ts";
import { incompleteReplyPrompt } from "../../src/prompts/templates/incomplete-reply.ts";
import { namesText, progressText } from "../../src/prompts/task-progress.ts";

const progress = progressText({ task: "file_move", done: 1, total: 3, failed: ["c.txt"] });
const prompts: [string, string][] = [
  ["folder check", folderCheckPrompt({ progress, remaining: ["a"] })],
  ["file move", fileMovePrompt({ progress, remaining: ["a.txt"] })],
  ["file summary", fileSummaryPrompt()],
  ["incomplete reply", incompleteReplyPrompt()],
  ["empty reply", emptyReplyPrompt()],
];

describe("the words of a forced continuation", () => {
  it.each(prompts)("are plain text without engineering wording: %s", (_name, prompt) => {
    expect(prompt).not.toMatch(/[*#`]|\u26A0|^- /mu);
    expect(prompt).not.toMatch(/execute|call function|return result|execution|work summary|system prompt/iu);
  });

  it("tell the progress, with what was tried in vain", () => {
    expect(progress).toBe("Progress: 1 of 3 files are moved. 1 could not be moved.");
  });

  it("name twenty things at most", () => {
    const names = Array.from({ length: 22 }, (_, index) => `f${index}`);
    expect(namesText(names)).toMatch(/f19 and 2 more$/u);
    expect(namesText(["a", "b"])).toBe("a, b");
  });

  it("ask for a guess before questions, and never for more detail", () => {
    expect(clarifyPrompt({ tools: ["read_file"] })).toMatch(/most likely want.*at most two.*Never just ask for more/su);
  });
});
