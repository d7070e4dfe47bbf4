import { describe, expect, it } from "vitest";
import { clarifyPrompt } from "../../src/prompts/templates/clarify.ts";
import { emptyReplyPrompt } from "../../src/prompts/templates/empty-reply.ts";
import { incompleteReplyPrompt } from "../../src/prompts/templates/incomplete-reply.ts";
import { toolNotCalledPrompt } from "../../src/prompts/templates/tool-not-called.ts";

const prompts: [string, string][] = [
  ["incomplete reply", incompleteReplyPrompt()],
  ["empty reply", emptyReplyPrompt()],
  ["chosen tool not called", toolNotCalledPrompt("list_files")],
];

describe("the words of a forced continuation", () => {
  it.each(prompts)("are plain text without engineering wording: %s", (_name, prompt) => {
    expect(prompt).not.toMatch(/[*#`]|\u26A0|^- /mu);
    expect(prompt).not.toMatch(/execute|call function|return result|execution|work summary|system prompt/iu);
  });

  it("ask for a guess before questions, and never for more detail", () => {
    expect(clarifyPrompt({ tools: ["read_file"] })).toMatch(/most likely want.*at most two.*Never just ask for more/su);
  });
});
