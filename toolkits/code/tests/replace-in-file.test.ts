import { readFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createHash } from "node:crypto";
import { applyBlocks, type Block, readBlocks } from "../tools/search-replace.ts";
import { isAppError } from "@millrace/engine/errors/errors";
import { aWorkspace, type Workspace } from "../../../tests/support/a-workspace.ts";
import { codeTools } from "../tools/index.ts";

let workspace: Workspace;
beforeEach(async () => {
  workspace = await aWorkspace();
});
afterEach(() => workspace[Symbol.asyncDispose]());

const block = (search: string, replace: string): string =>
  `<<<<<<< SEARCH\n${search}\n=======\n${replace === "" ? "" : `${replace}\n`}>>>>>>> REPLACE\n`;
const source = 'import { a } from "a";\n\nfunction first() {\n  return 1;\n}\n\nfunction second() {\n  return 1;\n}\n';

/** Writes the file, makes the edit, and gives the result with what the file holds then. */
async function edit(
  before: string,
  diff: string,
): Promise<{ content: string; data: unknown; after: string; errorType?: string | undefined }> {
  await workspace.fill({ "a.ts": before });
  const { content = "", data, errorType } = await workspace.call(codeTools.replace_in_file, { path: "a.ts", diff });
  return { content, data, errorType, after: await readFile(join(workspace.root, "a.ts"), "utf8") };
}

describe("replace_in_file", () => {
  it("replaces whole lines by one block", async () => {
    const { after, content } = await edit(
      source,
      block("function second() {\n  return 1;", "function second() {\n  return 2;"),
    );
    expect(after).toBe(source.replace("second() {\n  return 1", "second() {\n  return 2"));
    expect(content).toBe("Changed a.ts (1 block).");
  });

  it("applies several blocks in the order of the file, each after the one before", async () => {
    const { after, data } = await edit(
      source,
      block("  return 1;", "  return 10;") + block("  return 1;", "  return 20;"),
    );
    expect(after).toContain("first() {\n  return 10;");
    expect(after).toContain("second() {\n  return 20;");
    expect(data).toMatchObject({
      blocks: [
        { block: 1, line: 4 },
        { block: 2, line: 8 },
      ],
    });
  });

  it("replaces the first place of several, and says where the others are", async () => {
    const { after, content, data } = await edit(source, block("  return 1;", "  return 3;"));
    expect(after).toBe(source.replace("return 1", "return 3"));
    expect(content).toContain("Block 1 was applied at line 4; the same lines stand at line 8 too");
    expect(data).toMatchObject({ blocks: [{ also: [8] }] });
  });

  it("deletes by an empty replacement, and moves by two blocks", async () => {
    const deleted = await edit(source, block('import { a } from "a";', ""));
    expect(deleted.after).toBe(source.slice(source.indexOf("\n") + 1));
    const moved = await edit("one\ntwo\nthree\n", block("one", "") + block("three", "three\none"));
    expect(moved.after).toBe("two\nthree\none\n");
  });

  it.each<[string, string, string, string]>([
    ["Windows line ends", "a\r\nb\r\nc\r\n", block("b", "x\ny"), "a\r\nx\r\ny\r\nc\r\n"],
    ["a last line without an end", "a\nb", block("b", "x\ny"), "a\nx\ny"],
    ["the deletion of such a line", "a\nb", block("b", ""), "a"],
    ["a byte-order mark", "\uFEFFa\nb\n", block("a", "x"), "\uFEFFx\nb\n"],
    ["mixed line ends, each as the line had it", "a\r\nb\nc\r\n", block("b", "x"), "a\r\nx\nc\r\n"],
    ["blanks at the end of a line", "a  \nb\n", block("a  ", "a"), "a\nb\n"],
  ])("keeps %s", async (_, before, diff, after) => {
    expect((await edit(before, diff)).after).toBe(after);
  });

  it("takes a diff in a fence, and one with Windows line ends", async () => {
    expect((await edit("a\nb\n", `\`\`\`diff\n${block("a", "x")}\`\`\``)).after).toBe("x\nb\n");
    expect((await edit("a\nb\n", block("a", "x").replaceAll("\n", "\r\n"))).after).toBe("x\nb\n");
  });

  it("finds the dividing line of a block whose text has such lines", async () => {
    const before = "Title\n=======\ntext\n";
    expect((await edit(before, block("Title\n=======", "Other\n======="))).after).toBe("Other\n=======\ntext\n");
  });

  it.each<[string, string, RegExp]>([
    [
      "a text that is not there",
      block("const nothing = here;", "x"),
      /^Block 1: its SEARCH text is not in the file, and nothing was changed/,
    ],
    [
      "other blanks",
      block("function first() {\n    return 1;", "x"),
      /Line 4 differs only in blanks: the file has 0 tabs and 2 blanks at the start, yours has 0 tabs and 4 blanks/,
    ],
    [
      "a tab for blanks",
      block("function first() {\n\treturn 1;", "x"),
      /the file has 0 tabs and 2 blanks at the start, yours has 1 tabs and 0 blanks/,
    ],
    [
      "another word",
      block("function second() {\n  return 7;", "x"),
      /nearest text in the file is:\n7: function second\(\) \{\n8: {3}return 1;\nLine 8 differs: yours is " {2}return 7;"/,
    ],
    ["a similar line only", block("functoin second() {", "x"), /7: function second/],
    ["more lines than the file has", block("  return 1;\n}\n\nfunction third() {}", "x"), /nearest/],
    [
      "a part of a line",
      block("return 1", "return 2"),
      /^Block 1: its SEARCH text is only a part of line 4: " {2}return 1;"/,
    ],
    [
      "a second block that fails",
      block("function first() {", "x") + block("missing", "y"),
      /^Block 2: .* nothing was changed/,
    ],
    [
      "blocks in another order",
      block("function second() {", "x") + block("function first() {", "y"),
      /^Block 2: its SEARCH text stands at line 3, before the end of the block above it/,
    ],
    ["an empty search", "<<<<<<< SEARCH\n=======\nx\n>>>>>>> REPLACE", /^Block 1: its SEARCH part has no words/],
    ["no divider", "<<<<<<< SEARCH\nfunction first() {\n>>>>>>> REPLACE", /^Block 1: it has no line =======/],
    [
      "a block that was cut off",
      "<<<<<<< SEARCH\nfunction first() {\n=======\nfunction",
      /^Block 1: it has no line >>>>>>> REPLACE: it ends in the middle/,
    ],
    [
      "a block in a block",
      "<<<<<<< SEARCH\na\n<<<<<<< SEARCH\nb\n=======\nc\n>>>>>>> REPLACE",
      /^Block 1: it has no line >>>>>>> REPLACE before the next block/,
    ],
    [
      "words beside the blocks",
      `${block("function first() {", "x")}That is all.`,
      /stands after block 1 and is no part of one: "That is all."/,
    ],
    ["no block at all", "return 2;", /stands before the first block/],
    ["an empty diff", "\n\n", /The diff has no block/],
  ])("refuses %s, and changes nothing", async (_, diff, expected) => {
    const { after, content, errorType } = await edit(source, diff);
    expect(content).toMatch(expected);
    expect(errorType).toBe("invalid_parameter");
    expect(after).toBe(source);
  });

  it("refuses what is no text, what is missing, and what leads outside", async () => {
    await workspace.fill({ "a.bin": "a\0b" });
    const call = (path: string) => workspace.call(codeTools.replace_in_file, { path, diff: block("a", "b") });
    expect(await call("a.bin")).toMatchObject({ errorType: "invalid_format" });
    expect(await call("none.ts")).toMatchObject({ errorType: "not_found" });
    expect(await call("../x.ts")).toMatchObject({ errorType: "permission" });
  });

  it("asks before it changes a critical file", async () => {
    await workspace.fill({ "package.json": "{}\n", "a.ts": "a\n" });
    const look = (path: string) =>
      codeTools.replace_in_file.operation({ path, diff: block("{}", "[]") }, workspace.context);
    expect(await look("package.json")).toEqual({ type: "ModifyCriticalFile", path: "package.json" });
    expect(await look("a.ts")).toEqual({ type: "SimpleModify" });
  });
});

describe("after a crash", () => {
  const before = "one\ntwo\nthree\n";
  const input = { path: "a.ts", diff: block("two", "2") };
  const hash = createHash("sha256").update(before).digest("hex");
  const begun = {
    kind: "write" as const,
    path: "a.ts",
    before: { kind: "file" as const, hash, size: before.length, mode: 0o644 },
    after: null,
    made: [],
  };

  it.each([
    ["one\n2\nthree\n", "done"],
    ["one\nzwei\nthree\n", "unknown"],
  ])("knows by taking it back whether %j is its own work: %s", async (now, kind) => {
    await workspace.fill({ "a.ts": now });
    expect(await codeTools.replace_in_file.reconcile?.(input, { ...workspace.context, begun })).toMatchObject({ kind });
  });
});

describe("blocks in general", () => {
  const word = fc.constantFrom("a", "b", "  c", "d;", "}", "e e");

  it("replace exactly what they name: the rest of the file stays, byte for byte", () => {
    fc.assert(
      fc.property(
        fc.record({
          lines: fc.array(word, { minLength: 1, maxLength: 12 }),
          start: fc.nat(11),
          count: fc.integer({ min: 1, max: 4 }),
          replace: fc.array(word, { maxLength: 4 }),
          end: fc.constantFrom("\n", "\r\n"),
          isEnded: fc.boolean(),
        }),
        ({ lines, start, count, replace, end, isEnded }) => {
          // A file without any line end has none to keep.
          fc.pre(lines.length > 1 || isEnded);
          const at = start % lines.length;
          const search = lines.slice(at, at + count);
          const text = lines.join(end) + (isEnded ? end : "");
          const first = lines.findIndex((_, index) => search.every((line, step) => lines[index + step] === line));
          const wanted = [...lines.slice(0, first), ...replace, ...lines.slice(first + search.length)];
          const isEmpty = wanted.length === 0;
          const result = applyBlocks(text, [{ number: 1, search, replace }]).text;
          expect(result).toBe(wanted.join(end) + (isEnded && !isEmpty ? end : ""));
        },
      ),
      { numRuns: 500 },
    );
  });

  it("are read as they were written, whatever their lines are", () => {
    const line = fc.string({ maxLength: 12 }).filter((text) => !/[\r\n]/u.test(text) && !/^[<>=]{5}/u.test(text));
    const part = fc.array(line, { maxLength: 5 });
    fc.assert(
      fc.property(fc.array(fc.tuple(part, part), { minLength: 1, maxLength: 4 }), (pairs) => {
        const blocks: Block[] = pairs.map(([search, replace], index) => ({
          number: index + 1,
          search: ["key", ...search],
          replace,
        }));
        const diff = blocks.map(({ search, replace }) =>
          ["<<<<<<< SEARCH", ...search, "=======", ...replace, ">>>>>>> REPLACE"].join("\n"),
        );
        expect(readBlocks(diff.join("\n"), () => true)).toEqual(blocks);
      }),
    );
  });

  it("that do not fit a file of 100,000 lines are refused at once, with the nearest text", () => {
    const lines = Array.from({ length: 100_000 }, (_, index) => `line ${index % 7} of ${index}`);
    const search = Array.from({ length: 200 }, (_, index) => `line ${index % 7} of x`);
    try {
      applyBlocks(lines.join("\n"), [{ number: 1, search, replace: [] }]);
      expect.unreachable();
    } catch (error) {
      expect(isAppError(error) && error.message).toContain("The nearest text in the file is:");
    }
  });

  it("of lines that repeat are looked for once, not from each line anew", () => {
    const lines = Array.from({ length: 100_000 }, () => "a");
    const search = [...lines.slice(0, 30_000), "b"];
    expect(() => applyBlocks(lines.join("\n"), [{ number: 1, search, replace: [] }])).toThrow("Block 1: its SEARCH");
    const found = applyBlocks([...lines, "b"].join("\n"), [{ number: 1, search, replace: ["c"] }]);
    expect(found.applied).toEqual([{ block: 1, line: 70_001, removed: 30_001, added: 1, also: [] }]);
  });

  it("with thousands of dividing lines are refused before any is tried", () => {
    const diff = `<<<<<<< SEARCH\n${"=======\n".repeat(30_000)}>>>>>>> REPLACE\n`;
    expect(() => readBlocks(diff, () => false)).toThrow("Block 1: it has more than 40 lines =======");
  });
});
