import { chmod, link, lstat, mkdir, readdir, readFile, rm, stat, symlink, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
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

const content = (path: string) => readFile(join(workspace.root, path), "utf8");
const entries = async (path = ".") => (await readdir(join(workspace.root, path))).toSorted();

describe("read_file", () => {
  it("gives a file as it is, each line with its number", async () => {
    await workspace.fill({ "a.txt": "one\r\ntwo\n\nfour 文字 🗂" });
    const result = await workspace.call(tools.read_file, { path: "a.txt" });
    expect(result).toMatchObject({ success: true, code: "OK", content: "1\tone\r\n2\ttwo\n3\t\n4\tfour 文字 🗂" });
    expect(result.data).toEqual({ path: "a.txt", start_line: 1, end_line: 4, total_lines: 4 });
  });

  it.each([
    [{ offset: 2, limit: 2 }, "[a.txt: lines 2-3 of 4; go on with offset 4]\n2\ttwo\n3\tthree\n"],
    [{ offset: 3 }, "[a.txt: lines 3-4 of 4]\n3\tthree\n4\tfour\n"],
    [{ limit: 1 }, "[a.txt: lines 1-1 of 4; go on with offset 2]\n1\tone\n"],
    [{ offset: 1, limit: 4 }, "1\tone\n2\ttwo\n3\tthree\n4\tfour\n"],
    // As prompts and clients of former releases name the range.
    [{ start_line: 2, end_line: 3 }, "[a.txt: lines 2-3 of 4; go on with offset 4]\n2\ttwo\n3\tthree\n"],
    [{ start_line: 3, end_line: 99 }, "[a.txt: lines 3-4 of 4]\n3\tthree\n4\tfour\n"],
  ])("gives the lines of %j", async (range, expected) => {
    await workspace.fill({ "a.txt": "one\ntwo\nthree\nfour\n" });
    expect((await workspace.call(tools.read_file, { path: "a.txt", ...range })).content).toBe(expected);
  });

  it("gives a file of 3,000 lines in two parts that are the file when put together", async () => {
    const whole = Array.from({ length: 3000 }, (_, index) => `${"x".repeat(index % 30)}\n`).join("");
    await workspace.fill({ "long.txt": whole });
    let [read, next, parts]: [string, number | undefined, number] = ["", 1, 0];
    while (next !== undefined) {
      const result = await workspace.call(tools.read_file, { path: "long.txt", offset: next });
      const [note = "", ...lines] = (result.content ?? "").split("\n");
      expect(result.content?.length).toBeLessThanOrEqual(50_000);
      read += lines.map((line) => line.replace(/^\d+\t/u, "")).join("\n");
      const more = /go on with offset (\d+)/.exec(note);
      next = more ? Number(more[1]) : undefined;
      parts += 1;
    }
    expect(parts).toBe(2);
    expect(read).toBe(whole);
  });

  it("shows the beginning of a line that is too long beside others, and says how to read more of it", async () => {
    await workspace.fill({ "wide.txt": `${"x".repeat(300_000)}\nnext\n` });
    const { content: both = "" } = await workspace.call(tools.read_file, { path: "wide.txt" });
    expect(both).toMatch(
      /^\[wide\.txt: only the first 2000 characters of line 1 are shown: offset 1 with limit 1 gives more\]\n1\tx{2000}…\n2\tnext\n$/u,
    );
    const { content: alone = "" } = await workspace.call(tools.read_file, { path: "wide.txt", offset: 1, limit: 1 });
    expect(alone).toMatch(
      /^\[wide\.txt: lines 1-1 of 2; go on with offset 2; line 1 is longer than shown: offset 1 with character (\d+) goes on in it\]\n1\tx{49000}/u,
    );
  });

  it("stops counting in a very large file", async () => {
    await workspace.fill({ "huge.txt": "0123456789abcdef\n".repeat(2_200_000) });
    const result = await workspace.call(tools.read_file, { path: "huge.txt", start_line: 5, end_line: 6 });
    expect(result.content).toBe(
      "[huge.txt: lines 5-6 of a large file; go on with offset 7]\n5\t0123456789abcdef\n6\t0123456789abcdef\n",
    );
  });

  it("reads characters that lie across two blocks", async () => {
    const text = `${"x".repeat(64 * 1024 - 1)}\n文\n`;
    await workspace.fill({ "blocks.txt": `a${text}` });
    expect((await workspace.call(tools.read_file, { path: "blocks.txt", start_line: 2 })).content).toContain(
      "\n2\t文\n",
    );
  });

  it("says that a file is empty", async () => {
    await workspace.fill({ "empty.txt": "" });
    expect((await workspace.call(tools.read_file, { path: "empty.txt" })).content).toBe("(empty file)");
  });

  it.each([
    ["a missing file", { path: "reedme.md" }, "not_found", /Did you mean "README.md"/],
    ["a missing file in a missing folder", { path: "docs2/guide.md" }, "not_found", /Did you mean "docs\/guide.md"/],
    ["a file nothing is like", { path: "zzzzzzzz" }, "not_found", /"zzzzzzzz" does not exist.*list_files/],
    ["a folder", { path: "docs" }, "invalid_parameter", /is a folder/],
    ["below a file", { path: "README.md/x" }, "not_found", /is not a folder/],
    ["zeros", { path: "zero.bin" }, "invalid_format", /not UTF-8 text/],
    ["another encoding", { path: "latin.txt" }, "invalid_format", /not UTF-8 text/],
    ["half a character at the end", { path: "half.txt" }, "invalid_format", /not UTF-8 text/],
    ["a range backwards", { path: "README.md", start_line: 3, end_line: 2 }, "invalid_parameter", /before start_line/],
    [
      "a range beyond the end",
      { path: "README.md", start_line: 9 },
      "invalid_parameter",
      /no line 9, its last one is 1/,
    ],
    ["a line zero", { path: "README.md", offset: 0 }, "invalid_parameter", /offset/],
    ["no path", {}, "missing_parameter", /path/],
  ])("refuses %s", async (_, input, errorType, message) => {
    await workspace.fill({ "README.md": "hello\n", "docs/guide.md": "guide" });
    await writeFile(join(workspace.root, "zero.bin"), Buffer.from([65, 0, 66]));
    await writeFile(join(workspace.root, "latin.txt"), Buffer.from([0xe9, 0x74, 0xe9]));
    await writeFile(join(workspace.root, "half.txt"), Buffer.from([0x41, 0xe6, 0x96]));
    const result = await workspace.call(tools.read_file, input);
    expect(result).toMatchObject({ success: false, errorType });
    expect(result.content).toMatch(message);
  });
});

describe("create_file", () => {
  it("makes the file and the folders above it, and leaves nothing else", async () => {
    const result = await workspace.call(tools.create_file, { path: "./new//deep/a.txt", content: "text ü" });
    expect(result).toMatchObject({ success: true, message: "Created new/deep/a.txt (7 bytes)." });
    expect(await content("new/deep/a.txt")).toBe("text ü");
    expect(await entries("new/deep")).toEqual(["a.txt"]);
  });

  it.each(["taken.txt", "folder", "link", "dangling"])("fails when %s exists, whatever it is", async (path) => {
    await workspace.fill({ "taken.txt": "old", "folder/x": "x" });
    await symlink("taken.txt", join(workspace.root, "link"));
    await symlink("nothing", join(workspace.root, "dangling"));
    const before = await entries();
    const result = await workspace.call(tools.create_file, { path, content: "new" });
    expect(result).toMatchObject({ success: false, errorType: "conflict", code: "CONFLICT" });
    expect(await content("taken.txt")).toBe("old");
    expect(await entries()).toEqual(before);
  });

  it("lets exactly one of many at once succeed, and its content is whole", async () => {
    const all = Array.from({ length: 20 }, (_, index) =>
      workspace.call(tools.create_file, { path: "one.txt", content: `${index} `.repeat(10_000) }),
    );
    const winners = (await Promise.all(all)).flatMap((result, index) => (result.success ? [index] : []));
    expect(winners).toHaveLength(1);
    expect(await content("one.txt")).toBe(`${winners[0]} `.repeat(10_000));
    expect(await entries()).toEqual(["one.txt"]);
  });

  it("takes folders back when the file cannot be written", async () => {
    const result = await workspace.call(tools.create_file, {
      path: `x/y/${"ü".repeat(127)}/${"a".repeat(255)}`,
      content: "",
    });
    expect(result.success).toBe(true);
    await workspace.fill({ file: "a file" });
    expect(await workspace.call(tools.create_file, { path: "file/below/a.txt", content: "" })).toMatchObject({
      success: false,
      errorType: "not_found",
    });
    expect(await content("file")).toBe("a file");
  });

  it("recognises its own file when it is repeated after a crash, and only that", async () => {
    const input = { path: "a/b.txt", content: "mine" };
    await workspace.call(tools.create_file, input);
    const inode = (await stat(join(workspace.root, "a/b.txt"))).ino;
    expect(await workspace.call(tools.create_file, input, true)).toMatchObject({ success: true });
    expect((await stat(join(workspace.root, "a/b.txt"))).ino).toBe(inode);
    const other = await workspace.call(tools.create_file, { ...input, content: "else" }, true);
    expect(other).toMatchObject({ success: false, errorType: "conflict" });
    expect(await content("a/b.txt")).toBe("mine");
  });

  it("removes what a crashed attempt left behind, and nothing younger", async () => {
    const [old, young] = ["1111", "2222"].map((id) => `.millrace-${id}.tmp`);
    await workspace.fill({ [`a/${old}`]: "half", [`a/${young}`]: "of another process" });
    await utimes(join(workspace.root, `a/${old}`), new Date(0), new Date(0));
    await workspace.call(tools.create_file, { path: "a/first.txt", content: "" });
    expect(await entries("a")).toEqual([old, young, "first.txt"]);
    await workspace.call(tools.create_file, { path: "a/second.txt", content: "" }, true);
    expect(await entries("a")).toEqual([young, "first.txt", "second.txt"]);
  });
});

describe("update_file", () => {
  it("replaces the content in one step and keeps the mode", async () => {
    await workspace.fill({ "run.sh": "old" });
    await chmod(join(workspace.root, "run.sh"), 0o751);
    const result = await workspace.call(tools.update_file, { path: "run.sh", content: "new" });
    expect(result).toMatchObject({ success: true, message: "Updated run.sh (3 bytes)." });
    expect(await content("run.sh")).toBe("new");
    expect((await stat(join(workspace.root, "run.sh"))).mode & 0o777).toBe(0o751);
    expect(await entries()).toEqual(["run.sh"]);
  });

  it("never shows a reader half a file", async () => {
    await workspace.fill({ "a.txt": "0".repeat(200_000) });
    const writing = Promise.all(
      [1, 2, 3, 4].map((digit) =>
        workspace.call(tools.update_file, { path: "a.txt", content: `${digit}`.repeat(200_000) }),
      ),
    );
    for (let reads = 0; reads < 50; reads += 1) {
      const seen = await content("a.txt");
      expect(seen).toBe(seen.charAt(0).repeat(200_000));
    }
    expect((await writing).every((result) => result.success)).toBe(true);
  });

  it("fails when the file is missing or a folder, and makes nothing", async () => {
    await workspace.fill({ "folder/": "" });
    const missing = await workspace.call(tools.update_file, { path: "new.txt", content: "x" });
    expect(missing).toMatchObject({ success: false, errorType: "not_found" });
    const folder = await workspace.call(tools.update_file, { path: "folder", content: "x" });
    expect(folder).toMatchObject({ success: false, errorType: "invalid_parameter" });
    expect(await entries()).toEqual(["folder"]);
  });
});

describe("create_folder", () => {
  it("makes all levels, and fails for what exists", async () => {
    await workspace.fill({ "file.txt": "" });
    expect(await workspace.call(tools.create_folder, { path: "a/b/c/" })).toMatchObject({ success: true });
    expect((await stat(join(workspace.root, "a/b/c"))).isDirectory()).toBe(true);
    for (const path of ["a/b", "a", "file.txt", "."]) {
      const result = await workspace.call(tools.create_folder, { path });
      expect(result, path).toMatchObject({ success: false, errorType: "conflict" });
    }
  });

  it("is content with its own folder when it is repeated, not with a file", async () => {
    await workspace.fill({ "a/": "", file: "" });
    expect(await workspace.call(tools.create_folder, { path: "a" }, true)).toMatchObject({ success: true });
    expect(await workspace.call(tools.create_folder, { path: "file" }, true)).toMatchObject({ errorType: "conflict" });
  });
});

describe("delete_file", () => {
  it("deletes a file, and a folder with everything in it", async () => {
    await workspace.fill({ "a.txt": "", "d/e/f/g.txt": "", "d/h.txt": "", "d/empty/": "", "keep.txt": "" });
    expect(await workspace.call(tools.delete_file, { path: "a.txt" })).toMatchObject({ message: "Deleted a.txt." });
    const result = await workspace.call(tools.delete_file, { path: "d" });
    expect(result).toMatchObject({ success: true, message: "Deleted the folder d/ with everything in it." });
    expect(await entries()).toEqual(["keep.txt"]);
  });

  it("fails for what is not there, but not when it is repeated after a crash", async () => {
    const input = { path: "gone.txt" };
    expect(await workspace.call(tools.delete_file, input)).toMatchObject({ success: false, errorType: "not_found" });
    expect(await workspace.call(tools.delete_file, input, true)).toMatchObject({ success: true });
  });

  it("refuses the workspace itself", async () => {
    await workspace.fill({ "a.txt": "" });
    for (const path of [".", "./", "././"]) {
      expect(await workspace.call(tools.delete_file, { path })).toMatchObject({
        success: false,
        errorType: "permission",
      });
    }
    expect(await entries()).toEqual(["a.txt"]);
  });

  it("stops between folders when it is cancelled", async () => {
    await workspace.fill({ "d/a.txt": "", "d/e/b.txt": "" });
    const context = { ...workspace.context, signal: AbortSignal.abort() };
    await expect(tools.delete_file.run({ path: "d" }, context)).rejects.toMatchObject({ name: "AbortError" });
    expect(await entries("d")).toEqual(["a.txt", "e"]);
  });
});

describe("move_file and rename_file", () => {
  it("moves a file into folders it makes", async () => {
    await workspace.fill({ "a.txt": "text" });
    const result = await workspace.call(tools.move_file, { source: "a.txt", destination: "x/y/b.txt" });
    expect(result).toMatchObject({ success: true, message: "Moved a.txt to x/y/b.txt." });
    expect(await content("x/y/b.txt")).toBe("text");
    expect(await entries()).toEqual(["x"]);
    expect((await stat(join(workspace.root, "x/y/b.txt"))).nlink).toBe(1);
  });

  it("moves a folder with what is in it", async () => {
    await workspace.fill({ "d/e/a.txt": "text" });
    expect(await workspace.call(tools.move_file, { source: "d", destination: "f" })).toMatchObject({ success: true });
    expect(await content("f/e/a.txt")).toBe("text");
    expect(await entries()).toEqual(["f"]);
  });

  it("renames a file and a folder where they are", async () => {
    await workspace.fill({ "d/a.txt": "text" });
    expect(await workspace.call(tools.rename_file, { path: "d/a.txt", new_name: "b.md" })).toMatchObject({
      success: true,
    });
    expect(await workspace.call(tools.rename_file, { path: "d", new_name: "e" })).toMatchObject({ success: true });
    expect(await content("e/b.md")).toBe("text");
  });

  it.each([
    ["onto a file", { source: "a.txt", destination: "b.txt" }, "conflict", /exists already; nothing was moved/],
    ["onto an empty folder", { source: "a.txt", destination: "empty" }, "conflict", /whole new path/],
    ["a folder onto an empty folder", { source: "d", destination: "empty" }, "conflict", /exists already/],
    ["onto itself", { source: "a.txt", destination: "a.txt" }, "conflict", /exists already/],
    ["a folder into itself", { source: "d", destination: "d/e/f" }, "invalid_parameter", /into itself/],
    [
      "what is not there",
      { source: "c.txt", destination: "e.txt" },
      "not_found",
      /Did you mean "a.txt"|does not exist/,
    ],
    ["the workspace", { source: ".", destination: "x" }, "permission", /workspace itself/],
    ["onto the workspace", { source: "a.txt", destination: "." }, "permission", /workspace itself/],
  ])("refuses to move %s and changes nothing", async (_, input, errorType, message) => {
    await workspace.fill({ "a.txt": "a", "b.txt": "b", "d/e.txt": "e", "empty/": "" });
    const result = await workspace.call(tools.move_file, input);
    expect(result).toMatchObject({ success: false, errorType });
    expect(result.content).toMatch(message);
    expect(await entries()).toEqual(["a.txt", "b.txt", "d", "empty"]);
    expect(await content("b.txt")).toBe("b");
  });

  it.each([
    ["a name with a folder", "x/b.txt", "invalid_parameter"],
    ["a name that goes up", "../b.txt", "invalid_parameter"],
    ["two dots", "..", "permission"],
    ["one dot", ".", "invalid_parameter"],
    ["a backslash", "x\\b.txt", "invalid_parameter"],
    ["nothing", "", "invalid_parameter"],
    ["its own name", "a.txt", "invalid_parameter"],
    ["a name that is taken", "b.txt", "conflict"],
  ])("refuses to rename to %s", async (_, new_name, errorType) => {
    await workspace.fill({ "a.txt": "a", "b.txt": "b" });
    expect(await workspace.call(tools.rename_file, { path: "a.txt", new_name })).toMatchObject({
      success: false,
      errorType,
    });
    expect(await entries()).toEqual(["a.txt", "b.txt"]);
  });

  it("takes back folders it made when the move fails", async () => {
    await workspace.fill({ "a.txt": "a" });
    const target = `new/${"b".repeat(255)}`;
    await workspace.fill({ [target]: "taken" });
    expect(await workspace.call(tools.move_file, { source: "a.txt", destination: target })).toMatchObject({
      success: false,
    });
    expect(await content(target)).toBe("taken");
  });

  it("lets exactly one of several moves to one place succeed, and loses nothing", async () => {
    const names = Array.from({ length: 12 }, (_, index) => `${index}.txt`);
    await workspace.fill(Object.fromEntries(names.map((name) => [name, name])));
    const results = await Promise.all(
      names.map((source) => workspace.call(tools.move_file, { source, destination: "target.txt" })),
    );
    const moved = names.filter((_, index) => results[index]?.success);
    expect(moved).toHaveLength(1);
    expect(await content("target.txt")).toBe(moved[0]);
    expect(await entries()).toHaveLength(names.length);
  });

  it.each([
    ["before it did anything", async () => undefined],
    ["between its two names", () => link(join(workspace.root, "a.txt"), join(workspace.root, "b.txt"))],
    ["after it was done", () => workspace.call(tools.move_file, { source: "a.txt", destination: "b.txt" })],
  ])("finishes a file's move that crashed %s", async (_, crash) => {
    await workspace.fill({ "a.txt": "text" });
    await crash();
    const result = await workspace.call(tools.move_file, { source: "a.txt", destination: "b.txt" }, true);
    expect(result).toMatchObject({ success: true });
    expect(await entries()).toEqual(["b.txt"]);
    expect(await content("b.txt")).toBe("text");
  });

  it("finishes a folder's move that crashed while it held the name", async () => {
    await workspace.fill({ "d/a.txt": "text" });
    await mkdir(join(workspace.root, "e"));
    expect(await workspace.call(tools.move_file, { source: "d", destination: "e" }, true)).toMatchObject({
      success: true,
    });
    expect(await content("e/a.txt")).toBe("text");
  });

  it("does not take another file for its own when it is repeated", async () => {
    await workspace.fill({ "a.txt": "a", "b.txt": "b", "d/x": "", "e/y": "" });
    for (const [source, destination] of [
      ["a.txt", "b.txt"],
      ["d", "e"],
    ]) {
      const result = await workspace.call(tools.move_file, { source, destination }, true);
      expect(result).toMatchObject({ success: false, errorType: "conflict" });
    }
    expect(await content("b.txt")).toBe("b");
  });
});

describe("list_files", () => {
  it("lists everything below a folder, a folder before what is in it", async () => {
    await workspace.fill({ "b.txt": "", "a/z.txt": "", "a/sub/c.txt": "", "a-b.txt": "", "empty/": "" });
    const result = await workspace.call(tools.list_files, {});
    expect(result.content?.split("\n")).toEqual([
      "a/",
      "a/sub/",
      "a/sub/c.txt",
      "a/z.txt",
      "a-b.txt",
      "b.txt",
      "empty/",
    ]);
    expect((await workspace.call(tools.list_files, { path: "a" })).content).toBe("a/sub/\na/sub/c.txt\na/z.txt");
    expect(result.data).toMatchObject({ total: 7 });
  });

  it("leaves out what is ours and the insides of .git and node_modules", async () => {
    await workspace.fill({
      ".git/config": "",
      "node_modules/x/index.js": "",
      ".millrace/data": "",
      ".millrace-11.tmp": "",
      "a.txt": "",
    });
    expect((await workspace.call(tools.list_files, {})).content).toBe(".git/\na.txt\nnode_modules/");
    expect((await workspace.call(tools.list_files, { path: "node_modules" })).content).toContain(
      "node_modules/x/index.js",
    );
  });

  it("keeps its answer short and says what is missing", async () => {
    const many = Array.from({ length: 990 }, (_, index) => [
      `deep/file-with-a-name-${String(index).padStart(4, "0")}.txt`,
      "",
    ]);
    await workspace.fill({ ...Object.fromEntries(many), "top.txt": "" });
    const result = await workspace.call(tools.list_files, {});
    expect(result.content?.length).toBeLessThanOrEqual(16_000);
    expect(result.content).toMatch(/top\.txt\n\[\d+ further entries are not shown/);
    expect(result.data).toMatchObject({ total: 992 });
  });

  it("says that a folder is empty, and refuses what is none", async () => {
    expect((await workspace.call(tools.list_files, { path: "" })).content).toBe("The workspace is empty.");
    await workspace.fill({ "a.txt": "" });
    expect(await workspace.call(tools.list_files, { path: "a.txt" })).toMatchObject({ errorType: "invalid_parameter" });
    expect(await workspace.call(tools.list_files, { path: "b" })).toMatchObject({ errorType: "not_found" });
  });

  it("fails clearly when the workspace itself is gone", async () => {
    await rm(workspace.root, { recursive: true });
    expect(await workspace.call(tools.list_files, {})).toMatchObject({ success: false, errorType: "not_found" });
    expect(await lstat(workspace.root).catch(() => "still gone")).toBe("still gone");
  });
});
