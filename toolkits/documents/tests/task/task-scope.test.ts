import { describe, expect, it } from "vitest";
import { scopeOf } from "../../progress/task-scope.ts";

const many = 1_000_000;

// What takes time by the square of such a text would keep every run of the server waiting.
describe("a request that is as long as one may be", () => {
  it.each([
    [`Move the notes${" ".repeat(many)}and all files in drafts to archive`, "drafts"],
    [`Move the notes${"\n".repeat(many)}and all files in drafts to archive`, "drafts"],
    [`把笔记${" ".repeat(many)}然后把 drafts 里的所有文件移走`, "drafts"],
  ])("a request to move files with a long run of white space: %#", (request, folder) => {
    expect(scopeOf(request, false)).toEqual({ kind: "all", ending: null, folder });
  });

  it.each(["里", "文件", "a", "all files in "])("a request that repeats %j", (part) => {
    expect(scopeOf(`Move ${part.repeat(many / part.length)}`, false)).toEqual({ kind: "unknown" });
  });
});
