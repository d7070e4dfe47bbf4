import { symlink } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { isCritical } from "../../../src/tools/workspace/file-checks.ts";
import { tools } from "../../../src/tools/index.ts";
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
    [delete_file, { path: "folder" }, { type: "DeleteFolder", path: "folder", entries: 4 }],
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
