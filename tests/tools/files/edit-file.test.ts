import { readFile } from "node:fs/promises";
import { join } from "node:path";
import * as fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { tools } from "../../../src/tools/index.ts";
import { aWorkspace, type Workspace } from "../../support/a-workspace.ts";

let workspace: Workspace;
beforeEach(async () => {
  workspace = await aWorkspace();
});
afterEach(async () => {
  await workspace[Symbol.asyncDispose]();
});

const edit = (path: string, ...edits: object[]) => workspace.call(tools.edit_file, { path, edits });
const replace = (old_string: string, new_string: string, more = {}) => ({ old_string, new_string, ...more });
const content = () => readFile(join(workspace.root, "a.ts"), "utf8");
const source = "const most = 5;\nfunction read() {\n  return most;\n}\nfunction write() {\n  return most;\n}\n";

describe("edit_file", () => {
  it("makes several replacements, each in what the one before it has left", async () => {
    await workspace.fill({ "a.ts": source });
    const result = await edit("a.ts", replace("most = 5", "most = 10"), replace("most = 10;", "most = 20; // more"));
    expect(result).toMatchObject({ success: true, message: "Changed a.ts (2 places)." });
    expect(await content()).toBe(source.replace("most = 5;", "most = 20; // more"));
  });

  it("takes a part of a line, several lines, and nothing in their place", async () => {
    await workspace.fill({ "a.ts": source });
    await edit(
      "a.ts",
      replace("function write() {\n  return most;\n}\n", ""),
      replace("read()", "read(limit: number)"),
    );
    expect(await content()).toBe("const most = 5;\nfunction read(limit: number) {\n  return most;\n}\n");
  });

  it("replaces every occurrence only with replace_all", async () => {
    await workspace.fill({ "a.ts": source });
    const refused = await edit("a.ts", replace("return most;", "return 1;"));
    expect(refused).toMatchObject({ success: false, errorType: "invalid_parameter" });
    expect(refused.content).toMatch(/Edit 1: .* 2 times \(line 3, 6\), and nothing was changed\. .*replace_all/u);
    expect(await content()).toBe(source);
    await edit("a.ts", replace("return most;", "return 1;", { replace_all: true }));
    expect(await content()).toBe(source.replaceAll("return most;", "return 1;"));
  });

  it("shows the nearest text when one is not found, and changes nothing", async () => {
    await workspace.fill({ "a.ts": source });
    const result = await edit(
      "a.ts",
      replace("most = 5", "most = 6"),
      replace("function read() {\n\treturn most;", "x"),
    );
    expect(result.content).toMatch(/Edit 2: its old_string is not in the file, and nothing was changed/u);
    expect(result.content).toContain("2: function read() {");
    expect(result.content).toContain("differs only in blanks");
    expect(await content()).toBe(source);
  });

  it("keeps the ends of lines as the file has them, and takes $ as it is written", async () => {
    await workspace.fill({ "a.ts": source.replaceAll("\n", "\r\n") });
    await edit("a.ts", replace("function read() {\n  return most;", "function read() {\n  return `$&${most}`;"));
    expect(await content()).toBe(source.replace("return most", () => "return `$&${most}`").replaceAll("\n", "\r\n"));
  });

  it.each([
    ["a binary file", "a.bin", "invalid_format"],
    ["a file that is not there", "b.ts", "not_found"],
    ["a folder", "folder", "invalid_parameter"],
    ["a path outside", "../a.ts", "permission"],
  ])("refuses %s with a message to act on", async (_name, path, errorType) => {
    await workspace.fill({ "a.bin": "a\0b", "folder/x": "" });
    const result = await edit(path, replace("a", "b"));
    expect(result).toMatchObject({ success: false, errorType });
  });

  it("gives what replacing in the text gives, for any text", async () => {
    const part = fc.string({ minLength: 1, maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(fc.array(part, { minLength: 1, maxLength: 8 }), part, part, async (pieces, old, put) => {
        const text = pieces.join("|");
        fc.pre(!/[\r\0]|\p{Cs}/u.test(text + old + put));
        await workspace.fill({ "a.ts": text });
        const places = text.split(old).length - 1;
        const { success } = await edit("a.ts", replace(old, put));
        expect(success).toBe(places === 1);
        expect(await content()).toBe(places === 1 ? text.replace(old, () => put) : text);
      }),
      { numRuns: 60 },
    );
  });
});
