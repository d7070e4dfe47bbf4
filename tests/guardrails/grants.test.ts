import { describe, expect, it } from "vitest";
import { grantCovers, mayRemember } from "../../src/guardrails/grants.ts";
import { PathPattern } from "@millrace/engine/glob";
import { questionFor } from "@millrace/engine/sessions/questions/questions";

describe("a grant", () => {
  const grant = { tool: "delete_file", path_pattern: "drafts/*.txt" };

  it.each([
    [["drafts/a.txt"], true],
    [["drafts/a.txt", "drafts/b.txt"], true],
    [["drafts/a.txt", "secret/a.txt"], false],
    [["drafts/deep/a.txt"], false],
    [["Drafts/a.txt"], false],
    [["drafts/a.txt.bak"], false],
    [[], false],
  ])("covers %j: %s", (paths, covered) => {
    expect(grantCovers(grant, { tool: "delete_file", paths })).toBe(covered);
  });

  it("covers no other tool", () => {
    expect(grantCovers(grant, { tool: "update_file", paths: ["drafts/a.txt"] })).toBe(false);
  });

  it.each([
    [{ type: "DeleteFile", path: "a" }, true],
    [{ type: "ModifyCriticalFile", path: "a" }, true],
    [{ type: "DeleteFolder", path: "a", entries: 0 }, true],
    [{ type: "DeleteFolder", path: "a", entries: 1 }, false],
    [{ type: "HighRiskOperation", what: "rm" }, false],
    [{ type: "BatchOperation", count: 20 }, false],
  ] as const)("may be given for %j: %s", (operation, allowed) => {
    expect(mayRemember(operation)).toBe(allowed);
  });

  it("has a pattern that can be read", () => {
    expect(PathPattern.safeParse("drafts/**").success).toBe(true);
    for (const wrong of ["", "  ", "[z-a]", "x".repeat(201)]) expect(PathPattern.safeParse(wrong).success).toBe(false);
  });
});

describe("a question", () => {
  it("is put in English and in Chinese", () => {
    const operation = { type: "DeleteFolder", path: "old", entries: 3 } as const;
    expect(questionFor(operation, "en")).toContain("Delete the folder old with 3 items in it?");
    expect(questionFor(operation, "zh")).toContain("old 及其中的 3 项");
  });

  it("shows what would hide or turn round its text", () => {
    const question = questionFor({ type: "HighRiskOperation", what: "cat a\n\u202Etxt.exe\u200B" }, "en");
    expect(question).toContain("cat a\\u{a}\\u{202e}txt.exe\\u{200b}");
  });
});
