import { readFile, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { tools } from "../../../../src/tools/index.ts";
import { snapshot } from "../../../../src/tools/undo/snapshot.ts";
import { aWorkspace, type Workspace } from "../../../../tests/support/a-workspace.ts";
import { codeTools } from "../../../code/tools/index.ts";
import { html, missingLines } from "./plan-document.ts";

describe("create_file and update_file of a Word document", () => {
  let workspace: Workspace;
  beforeEach(async () => {
    workspace = await aWorkspace();
  });
  afterEach(async () => await workspace[Symbol.asyncDispose]());
  const read = async (path: string): Promise<string> => (await workspace.call(tools.read_file, { path })).content ?? "";

  it("write it from HTML and Markdown, and read_file gives its text", async () => {
    const made = await workspace.call(tools.create_file, { path: "plans/mill.docx", content: html });
    expect(made.message).toMatch(/^Created plans\/mill\.docx \(\d+ bytes\), a Word document made from HTML\.$/u);
    const text = await read("plans/mill.docx");
    expect(text).toMatch(/^\[plans\/mill\.docx: the text of a Word document\]\n/u);
    expect(missingLines(text), text).toEqual([]);
    const changed = await workspace.call(tools.update_file, { path: "plans/mill.docx", content: "# Other\n\nText." });
    expect(changed.message).toMatch(/^Updated plans\/mill\.docx \(\d+ bytes\), a Word document made from Markdown\.$/u);
    expect(await read("plans/mill.docx")).toContain("# Other\n\nText.");
    expect(await readdir(join(workspace.root, "plans"))).toEqual(["mill.docx"]);
  });

  it("write_to_file does so too", async () => {
    const made = await workspace.call(codeTools.write_to_file, { path: "a.docx", content: "# A" });
    expect(made.message).toContain("a Word document made from Markdown");
    expect(await read("a.docx")).toContain("# A");
  });

  it("fetches no picture from anywhere, and says that it is left out", async () => {
    await writeFile(join(workspace.outside, "secret.png"), "secret");
    const content =
      '<p>Look: <img alt="a wheel" src="http://127.0.0.1:9/wheel.png"><img src="/etc/passwd"></p>' +
      '<iframe src="file:///etc/passwd"></iframe><p>End.</p>';
    const made = await workspace.call(tools.create_file, { path: "a.docx", content });
    expect(made.message).toContain("made from HTML, without 2 pictures.");
    const text = await read("a.docx");
    expect(text).toContain("Look: [a wheel]");
    expect(text).toContain("End.");
    expect(text).not.toContain("root:");
    const second = await workspace.call(tools.create_file, {
      path: "b.docx",
      content: `# B\n\n![the race](${join(workspace.outside, "secret.png")})\n\n\`![code](stays)\``,
    });
    expect(second.message).toContain(", without 1 picture.");
    const other = await read("b.docx");
    expect(other).toContain("[the race]");
    expect(other).toContain("![code](stays)");
  });

  it.each(["a.pdf", "a.xlsx", "b/a.PPTX", "a.odt", "a.doc", "a.docm", "a.epub"])("makes no broken %s", async (path) => {
    const result = await workspace.call(tools.create_file, { path, content: "text" });
    expect(result).toMatchObject({ success: false, errorType: "invalid_parameter" });
    expect(result.content).toContain("Write a Word document (.docx)");
    expect(await readdir(workspace.root)).toEqual([]);
  });

  it("is not broken by other tools that write", async () => {
    await workspace.call(tools.create_file, { path: "b.docx", content: "# B" });
    const before = await readFile(join(workspace.root, "b.docx"));
    const diff = "<<<<<<< SEARCH\nPK\n=======\nKP\n>>>>>>> REPLACE";
    expect(await workspace.call(codeTools.replace_in_file, { path: "b.docx", diff })).toMatchObject({ success: false });
    expect((await readFile(join(workspace.root, "b.docx"))).equals(before)).toBe(true);
  });

  it("is known again after a crash by what it says, and another is not touched", async () => {
    await workspace.call(tools.create_file, { path: "a.docx", content: html });
    const first = await readFile(join(workspace.root, "a.docx"));
    const again = await workspace.call(tools.create_file, { path: "a.docx", content: html }, true);
    expect(again).toMatchObject({ success: true });
    const other = await workspace.call(tools.create_file, { path: "a.docx", content: "# Other" }, true);
    expect(other).toMatchObject({ success: false, errorType: "conflict" });
    expect((await readFile(join(workspace.root, "a.docx"))).equals(first)).toBe(true);
  });

  it.each<[string, string | undefined, "create_file" | "update_file", string]>([
    ["was made", html, "create_file", "done"],
    ["was not begun", undefined, "create_file", "not_done"],
    ["has been made by another program", "# Other", "create_file", "unknown"],
    ["was made anew", html, "update_file", "done"],
    ["is still as it was", undefined, "update_file", "not_done"],
    ["has been changed by another program", "# Other", "update_file", "unknown"],
  ])("is looked for after a crash: it %s", async (_, now, name, kind) => {
    const isNew = name === "create_file";
    if (!isNew) await workspace.call(tools.create_file, { path: "a.docx", content: "# Before" });
    const { state: before } = await snapshot(workspace.context, "a.docx", "keep");
    const tool = isNew && now !== undefined ? tools.create_file : tools.update_file;
    if (now !== undefined) await workspace.call(tool, { path: "a.docx", content: now });
    const begun = { kind: "write" as const, path: "a.docx", before, after: null, made: [] };
    const found = await tools[name].reconcile?.({ path: "a.docx", content: html }, { ...workspace.context, begun });
    expect(found?.kind).toBe(kind);
  });

  it("that would be too long is not made", async () => {
    const result = await workspace.call(tools.create_file, { path: "a.docx", content: "a".repeat(2_000_001) });
    expect(result).toMatchObject({ success: false, errorType: "too_large" });
    expect(result.content).toContain("Make several documents of it.");
    expect(await readdir(workspace.root)).toEqual([]);
  });

  it("that was stopped leaves nothing", async () => {
    const stop = new AbortController();
    stop.abort(new Error("stopped"));
    const context = { ...workspace.context, signal: stop.signal };
    await expect(tools.create_file.run({ path: "x/a.docx", content: html }, context)).rejects.toThrow("stopped");
    expect(await readdir(workspace.root)).toEqual([]);
  });
});
