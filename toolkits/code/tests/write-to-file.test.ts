import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { aWorkspace, type Workspace } from "../../../tests/support/a-workspace.ts";
import { codeTools } from "../tools/index.ts";

let workspace: Workspace;
beforeEach(async () => {
  workspace = await aWorkspace();
});
afterEach(() => workspace[Symbol.asyncDispose]());

const write = (path: string, content: string) => workspace.call(codeTools.write_to_file, { path, content });

describe("write_to_file", () => {
  it("makes a file with its folders, and replaces one that is there", async () => {
    expect(await write("src/deep/a.ts", "one\n")).toMatchObject({
      success: true,
      data: { path: "src/deep/a.ts", bytes: 4 },
    });
    await write("src/deep/a.ts", "two\n");
    expect(await readFile(join(workspace.root, "src/deep/a.ts"), "utf8")).toBe("two\n");
  });

  it("says before what it would do", async () => {
    await workspace.fill({ "a.ts": "a\n", "package.json": "{}\n" });
    const look = (path: string) => codeTools.write_to_file.operation({ path, content: "x" }, workspace.context);
    expect(await look("new.ts")).toEqual({ type: "Create" });
    expect(await look("a.ts")).toEqual({ type: "SimpleModify" });
    expect(await look("package.json")).toEqual({ type: "ModifyCriticalFile", path: "package.json" });
    expect(await look(".git/hooks/x")).toEqual({ type: "ModifyCriticalFile", path: ".git/hooks/x" });
  });

  it.each([
    ["../a.ts", "permission"],
    [".", "permission"],
    ["folder", "invalid_parameter"],
    ["a.ts/b.ts", "not_found"],
  ])("refuses %s", async (path, errorType) => {
    await workspace.fill({ "folder/x.txt": "x", "a.ts": "a" });
    expect(await write(path, "x")).toMatchObject({ success: false, errorType });
  });
});
