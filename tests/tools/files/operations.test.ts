import { symlink, truncate } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { isCritical } from "../../../src/tools/workspace/file-checks.ts";
import { tools } from "../../../src/tools/index.ts";
import { questionFor } from "@millrace/engine/sessions/questions/questions";
import { snapshot } from "../../../src/tools/undo/snapshot.ts";
import { prepareCall } from "../../../src/tools/runtime/run-tool.ts";
import { aWorkspace, type Workspace } from "../../support/a-workspace.ts";

let workspace: Workspace;

beforeEach(async () => {
  workspace = await aWorkspace();
  await workspace.fill({
    "a.txt": "",
    "package.json": "{}",
    "sub/.env": "",
    "folder/x/y.txt": "",
    "folder/node_modules/z.js": "",
    "empty/": "",
    "v1.0/": "",
  });
  await symlink("package.json", join(workspace.root, "innocent.txt"));
});

afterEach(async () => {
  await workspace[Symbol.asyncDispose]();
});

describe("critical files", () => {
  it.each([
    ".gitignore",
    "package.json",
    "deep/PACKAGE.JSON",
    ".env",
    ".env.local",
    "tsconfig.build.json",
    ".eslintrc.cjs",
  ])("%s is one", (path) => expect(isCritical(path)).toBe(true));
  it.each(["vite.config.ts", ".git/hooks/pre-commit", ".github/workflows/ci.yml", "Dockerfile", "app/config.yaml"])(
    "%s is one too",
    (path) => expect(isCritical(path)).toBe(true),
  );
  it.each([
    "notes.txt",
    "my-package.json",
    "gitignore",
    "environment.md",
    "packages/engine/src/config/config.ts",
    "src/git/a.ts",
  ])("%s is none", (path) => expect(isCritical(path)).toBe(false));
});

describe("the operation a call asks leave for", () => {
  const { read_file, create_file, update_file, delete_file, move_file, rename_file, create_folder, list_files } = tools;
  it.each([
    [read_file, { path: "package.json" }, { type: "Query" }],
    [list_files, {}, { type: "Query" }],
    [tools.search_files, { query: "a" }, { type: "Query" }],
    [tools.search_content, { path: ".", regex: "a" }, { type: "Query" }],
    [create_file, { path: "new.txt", content: "" }, { type: "Create" }],
    [create_file, { path: ".git/hooks/pre-commit", content: "" }, { type: "ModifyCriticalFile" }],
    [create_folder, { path: "new" }, { type: "Create" }],
    [update_file, { path: "a.txt", content: "" }, { type: "SimpleModify" }],
    [update_file, { path: "./package.json", content: "" }, { type: "ModifyCriticalFile" }],
    [update_file, { path: "innocent.txt", content: "" }, { type: "ModifyCriticalFile" }],
    [update_file, { path: "sub/.env", content: "" }, { type: "ModifyCriticalFile" }],
    [delete_file, { path: "a.txt" }, { type: "DeleteFile", path: "a.txt" }],
    [delete_file, { path: "package.json" }, { type: "ModifyCriticalFile", path: "package.json" }],
    [delete_file, { path: "folder" }, { type: "DeleteFolder", path: "folder", entries: 4, not_kept: null }],
    [delete_file, { path: "empty" }, { type: "DeleteFolder", path: "empty", entries: 0 }],
    [delete_file, { path: "not-there-yet.txt" }, { type: "DeleteFile" }],
    [delete_file, { path: "../out.txt" }, { type: "Query" }],
    [move_file, { source: "a.txt", destination: "b.txt" }, { type: "SimpleModify" }],
    [move_file, { source: "package.json", destination: "b.json" }, { type: "ModifyCriticalFile" }],
    [move_file, { source: "a.txt", destination: ".git/hooks/post-merge" }, { type: "ModifyCriticalFile" }],
    [rename_file, { path: "a.txt", new_name: "b.TXT" }, { type: "SimpleModify" }],
    [
      rename_file,
      { path: "a.txt", new_name: "a.sh" },
      { type: "IrreversibleOperation", path: "a.txt", overwrites: false },
    ],
    [rename_file, { path: "v1.0", new_name: "v1.1" }, { type: "SimpleModify" }],
    [rename_file, { path: "package.json", new_name: "old.json" }, { type: "ModifyCriticalFile" }],
  ])("of $0.name with $1", async (tool, input, expected) => {
    const prepared = prepareCall(tool, input);
    if (prepared.kind !== "ready") throw new Error(prepared.result.message);
    // The tool is one of a union here: its own schema has just accepted the input.
    const operation = await (tool as typeof read_file).operation(prepared.input as { path: string }, workspace.context);
    expect(operation).toMatchObject(expected);
  });
});

describe("the question about a folder", () => {
  const mb = 1024 * 1024;
  it.each([
    ["nothing", {}, "You can undo this.", "此操作可以撤销。"],
    ["as much as is kept", { a: 4 * mb, b: 4 * mb }, "You can undo this.", "此操作可以撤销。"],
    ["a large file", { a: 4 * mb + 1 }, "a file in it has more than 4 MB", "其中有超过 4 MB 的文件"],
    ["much in all", { a: 4 * mb, b: 4 * mb, c: 1 }, "it has more than 8 MB", "内容超过 8 MB"],
    ["a name that no path can hold", { "a\\b": 1 }, "something in it cannot be kept", "其中有无法保留的内容"],
    [
      "many files",
      Object.fromEntries(Array.from({ length: 2_001 }, (_, index) => [`f${index}`, 0])),
      "at most 2000 items are kept",
      "最多只保留 2000 项",
    ],
  ])("with %s in it says whether it can be undone, as it can", async (_, sizes: Record<string, number>, en, zh) => {
    const files = Object.keys(sizes).map((name) => [`old/${name}`, ""]);
    await workspace.fill({ "old/": "", ...Object.fromEntries(files) });
    // Files of one content are kept once: each begins with its own name.
    for (const [name, size] of Object.entries(sizes)) {
      if (size === 0) continue;
      await workspace.fill({ [`old/${name}`]: name });
      await truncate(join(workspace.root, "old", name), size);
    }
    const operation = await tools.delete_file.operation({ path: "old" }, workspace.context);
    if (operation.type !== "DeleteFolder") throw new Error(operation.type);
    expect(questionFor(operation, "en")).toContain(en);
    expect(questionFor(operation, "zh")).toContain(zh);
    expect(operation.not_kept === null).toBe((await snapshot(workspace.context, "old", "keep")).isWhole);
  });
});
