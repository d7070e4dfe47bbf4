import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { patchFile } from "../../tools/patch-file.ts";
import { rewriteFile } from "../../tools/rewrite-file.ts";
import { tools } from "../../../../src/tools/index.ts";
import { aWorkspace, type Workspace } from "../../../../tests/support/a-workspace.ts";

let workspace: Workspace;
beforeEach(async () => {
  workspace = await aWorkspace();
});
afterEach(async () => await workspace[Symbol.asyncDispose]());

const content = async (path: string): Promise<string> => await readFile(join(workspace.root, path), "utf8");
const patch = async (...changes: { find: string; replace: string }[]) =>
  await workspace.call(patchFile, { path: "amp.cir", changes });

describe("patch_file", () => {
  it("makes all changes of a list, and keeps the line ends of the file", async () => {
    await workspace.fill({ "amp.cir": "T\r\nR1 a b 1k\r\nC1 b 0 1n\r\n" });
    const result = await patch(
      { find: "R1 a b 1k", replace: "R1 a b 2k\nR2 b 0 1k" },
      { find: "C1 b 0 1n\n", replace: "" },
    );
    expect(result).toMatchObject({ success: true, data: { path: "amp.cir", changes: 2 } });
    expect(await content("amp.cir")).toBe("T\r\nR1 a b 2k\r\nR2 b 0 1k\r\n");
  });

  it.each([
    ["is not there", "R1 a c 1k", "not_found", "Change 2", "nearest is line 2: R1 a b 1k"],
    ["is there twice", "b", "conflict", "Change 2", "more than once, at the lines 2 and 3"],
  ])("changes nothing when a text %s, and says where", async (_, find, code, which, where) => {
    const before = "T\nR1 a b 1k\nC1 b 0 1n\n";
    await workspace.fill({ "amp.cir": before });
    const result = await patch({ find: "1n", replace: "2n" }, { find, replace: "x" });
    expect(result).toMatchObject({ success: false, errorType: code });
    expect(result.content).toContain(which);
    expect(result.content).toContain(where);
    expect(await content("amp.cir")).toBe(before);
  });

  it("refuses changes that change nothing, and a file that is not there", async () => {
    await workspace.fill({ "amp.cir": "T\nR1 a b 1k\n" });
    expect(await patch({ find: "1k", replace: "1k" })).toMatchObject({ errorType: "invalid_parameter" });
    expect(await workspace.call(patchFile, { path: "no.cir", changes: [{ find: "a", replace: "b" }] })).toMatchObject({
      errorType: "not_found",
    });
  });
});

describe("rewrite_file", () => {
  it("writes a file anew, with its folders", async () => {
    const { message } = await workspace.call(rewriteFile, { path: "new/amp.cir", content: "T\nR1 a 0 1\n" });
    expect(message).toBe("Wrote new/amp.cir (2 lines).");
    await workspace.call(rewriteFile, { path: "new/amp.cir", content: "T\n" });
    expect(await content("new/amp.cir")).toBe("T\n");
  });

  it("stays in the workspace", async () => {
    const result = await workspace.call(rewriteFile, { path: "../out.cir", content: "" });
    expect(result).toMatchObject({ success: false, errorType: "permission" });
  });
});

describe("a Word document", () => {
  it.each(["a.docx", "a.pdf"])("is not written as text: %s", async (path) => {
    const result = await workspace.call(rewriteFile, { path, content: "text" });
    expect(result).toMatchObject({ success: false, errorType: "invalid_parameter" });
    expect(await readdir(workspace.root)).toEqual([]);
  });

  it("is not changed as text", async () => {
    await workspace.call(tools.create_file, { path: "b.docx", content: "# B" });
    const before = await readFile(join(workspace.root, "b.docx"));
    const changes = [{ find: "PK", replace: "KP" }];
    expect(await workspace.call(patchFile, { path: "b.docx", changes })).toMatchObject({ success: false });
    expect((await readFile(join(workspace.root, "b.docx"))).equals(before)).toBe(true);
  });
});
