import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createNewProblemReporter, findFolders, type FolderSearch } from "../../src/extensions/find-folders.ts";

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "millrace-finder-"));
  for (const folder of ["empty", "one", "two"]) mkdirSync(join(root, folder));
  for (const file of ["one/b.md", "one/a.md", "one/c.txt", "two/index.md"]) writeFileSync(join(root, file), "");
});
afterEach(() => rmSync(root, { recursive: true }));

function find(search: Partial<FolderSearch>): { found: string[]; problems: string[] } {
  const problems: string[] = [];
  const found = findFolders({
    folders: ["missing", "empty", "one", "two"].map((name) => join(root, name)),
    strategy: "all",
    accepts: () => true,
    onProblem: ({ folder }) => void problems.push(folder.slice(root.length + 1)),
    ...search,
  });
  return { found: found.flatMap(({ files }) => files.map((file) => file.slice(root.length + 1))), problems };
}

describe("the search for folders (EXT-07)", () => {
  it("takes every folder with files, in the given order, files by name; one that is not there is no problem", () => {
    expect(find({})).toEqual({ found: ["one/a.md", "one/b.md", "one/c.txt", "two/index.md"], problems: [] });
  });

  it("takes only the first folder with files, where one is enough", () => {
    expect(find({ strategy: "first" }).found).toEqual(["one/a.md", "one/b.md", "one/c.txt"]);
  });

  it("takes only folders with files of a kind, and only those files", () => {
    expect(find({ accepts: (name) => name.endsWith(".txt") }).found).toEqual(["one/c.txt"]);
    expect(find({ accepts: (name) => name === "index.md", strategy: "first" }).found).toEqual(["two/index.md"]);
    expect(find({ accepts: () => false }).found).toEqual([]);
  });

  it("reports what is there and is no folder, and goes on", () => {
    const folders = ["one/a.md", "two"].map((name) => join(root, name));
    expect(find({ folders })).toEqual({ found: ["two/index.md"], problems: ["one/a.md"] });
  });
});

it("reports a problem that lasts once, and again when it has come back", () => {
  const reported: string[] = [];
  const report = createNewProblemReporter<{ name: string }>(({ name }) => void reported.push(name));
  report([{ name: "a" }]);
  report([{ name: "a" }, { name: "b" }]);
  report([]);
  report([{ name: "a" }]);
  expect(reported).toEqual(["a", "b", "a"]);
});
