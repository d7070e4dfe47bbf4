import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { toGlob } from "@millrace/engine/glob";
import { ripgrepPath } from "../../../src/tools/workspace/ripgrep.ts";
import { tools } from "../../../src/tools/index.ts";
import { aWorkspace, type Workspace } from "../../support/a-workspace.ts";

/** Who narrows a search by ripgrep does not know what was skipped. */
const isNarrowed = (await ripgrepPath()) !== null;
const skipped = (count: number): number | null => (isNarrowed ? null : count);

let workspace: Workspace;

beforeEach(async () => {
  workspace = await aWorkspace();
});

afterEach(async () => {
  await workspace[Symbol.asyncDispose]();
});

describe("toGlob", () => {
  it.each<[string, string[], string[]]>([
    ["*.ts", ["a.ts", "src/deep/a.ts", "A.TS"], ["a.tsx", "ts", "a.ts/b"]],
    ["src/*.ts", ["src/a.ts"], ["src/x/a.ts", "a.ts", "lib/src/a.ts"]],
    ["src/**/*.ts", ["src/a.ts", "src/x/y/a.ts"], ["lib/a.ts"]],
    ["**/test/**", ["test/a", "x/test/a/b"], ["tests/a"]],
    ["./src/*.ts", ["src/a.ts"], ["a.ts"]],
    ["file-?.txt", ["file-1.txt", "d/file-é.txt"], ["file-12.txt", "file-.txt"]],
    ["[a-c].md", ["b.md"], ["d.md"]],
    ["[!a-c].md", ["d.md"], ["b.md"]],
    ["*.{ts,js}", ["a.ts", "a.js"], ["a.css"]],
    ["{a*,b?}.md", ["abc.md", "b1.md"], ["b12.md"]],
    ["a+b(c).txt", ["a+b(c).txt"], ["aab(c).txt"]],
    ["[", ["["], ["a"]],
    ["文*.md", ["文字.md"], ["字.md"]],
  ])("%s", (pattern, hits, misses) => {
    const matches = toGlob(pattern);
    expect(hits.filter((path) => !matches(path))).toEqual([]);
    expect(misses.filter((path) => matches(path))).toEqual([]);
  });

  it("accepts any pattern, and every name matches itself when it holds no signs", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", maxLength: 30 }), fc.string(), (pattern, path) => {
        expect(typeof toGlob(pattern)(path)).toBe("boolean");
        const plain = pattern.replace(/[*?[\]{}/]/g, "");
        expect(toGlob(plain)(plain)).toBe(true);
      }),
      { numRuns: 300 },
    );
  });
});

describe("search_files", () => {
  beforeEach(() =>
    workspace.fill({
      "Report.md": "",
      "docs/report-2.txt": "",
      "reports/a.txt": "",
      "src/main.ts": "",
      "node_modules/report.js": "",
    }),
  );

  it.each([
    ["report", ["Report.md", "reports/", "docs/report-2.txt", "reports/a.txt"]],
    ["REPORT-2", ["docs/report-2.txt"]],
    ["docs/rep", ["docs/report-2.txt"]],
    ["*.ts", ["src/main.ts"]],
    ["**/*.txt", ["docs/report-2.txt", "reports/a.txt"]],
  ])("finds %s in names and paths", async (query, hits) => {
    const result = await workspace.call(tools.search_files, { query });
    expect(result).toMatchObject({ success: true, data: { hits, total: hits.length } });
    expect(result.content?.split("\n")).toEqual(hits);
  });

  it("says what to try when nothing is found, and refuses an empty query", async () => {
    const nothing = await workspace.call(tools.search_files, { query: "invoice" });
    expect(nothing).toMatchObject({ success: true, data: { total: 0 } });
    expect(nothing.content).toMatch(/No file or folder has "invoice".*shorter/);
    expect(await workspace.call(tools.search_files, { query: "  " })).toMatchObject({ errorType: "invalid_parameter" });
  });

  it("finds a name in either form of its letters", async () => {
    await workspace.fill({ "cafe\u0301.txt": "" });
    expect((await workspace.call(tools.search_files, { query: "caf\u00e9" })).data).toMatchObject({ total: 1 });
  });

  it("keeps its answer short", async () => {
    await workspace.fill(
      Object.fromEntries(Array.from({ length: 800 }, (_, index) => [`many/match-number-${index}`, ""])),
    );
    const result = await workspace.call(tools.search_files, { query: "match-number" });
    expect(result.content?.length).toBeLessThanOrEqual(16_000);
    expect(result.content).toMatch(/further hits are not shown/);
    expect(result.data).toMatchObject({ total: 800 });
  });
});

describe("search_content", () => {
  it("searches the workspace where no path is given", async () => {
    await workspace.fill({ "src/a.txt": "a needle\n" });
    const result = await workspace.call(tools.search_content, { regex: "needle" });
    expect(result.content).toBe("src/a.txt\n1: a needle");
  });

  it("shows matches with the lines around them, by file", async () => {
    await workspace.fill({
      "a.txt": "one\ntwo\nthree\nfour needle\nfive\nsix\nseven\neight\nnine\nten needle\n",
      "b/c.txt": "Needle\r\nneedle here\r\n",
      "d.txt": "nothing",
    });
    const result = await workspace.call(tools.search_content, { path: ".", regex: "needle", context_lines: 1 });
    expect(result.content).toBe(
      "a.txt\n3- three\n4: four needle\n5- five\n--\n9- nine\n10: ten needle\n\nb/c.txt\n1- Needle\n2: needle here",
    );
    expect(result.data).toMatchObject({
      complete: true,
      matches: [
        { path: "a.txt", line: 4, text: "four needle" },
        { path: "a.txt", line: 10, text: "ten needle" },
        { path: "b/c.txt", line: 2, text: "needle here" },
      ],
    });
  });

  it.each([
    ["an expression", { path: ".", regex: "^ni\\w+e$" }, ["b.ts:1"]],
    ["without case", { path: ".", regex: "(?i)^NEEDLE" }, ["a.md:1"]],
    ["a line end is not part of the line", { path: ".", regex: "needle$" }, ["a.md:1", "src/c.ts:2"]],
    ["only some files", { path: ".", regex: "needle", file_pattern: "*.ts" }, ["src/c.ts:2"]],
    ["only some folders", { path: ".", regex: "needle", file_pattern: "src/**" }, ["src/c.ts:2"]],
    ["one folder", { path: "src", regex: "needle" }, ["src/c.ts:2"]],
    ["one file", { path: "a.md", regex: "e" }, ["a.md:1"]],
    ["other scripts", { path: ".", regex: "文.$" }, ["d.txt:1"]],
  ])("finds %s", async (_, input, expected) => {
    await workspace.fill({ "a.md": "needle\r\n", "b.ts": "nine\n", "src/c.ts": "x\na needle", "d.txt": "中文字\n" });
    const result = await workspace.call(tools.search_content, input);
    expect([0, skipped(0)]).toContain((result.data as { skipped_files: number | null }).skipped_files);
    const hits = (result.data as { matches: { path: string; line: number }[] }).matches; // shape asserted above
    expect(hits.map((hit) => `${hit.path}:${hit.line}`)).toEqual(expected);
  });

  it("skips binary files in a folder, and says why it cannot search one that is named", async () => {
    await writeFile(join(workspace.root, "x.bin"), Buffer.from([110, 101, 101, 100, 0, 10]));
    await workspace.fill({ "a.txt": "need" });
    const result = await workspace.call(tools.search_content, { path: ".", regex: "need" });
    expect(result.data).toMatchObject({ matches: [{ path: "a.txt" }], skipped_files: skipped(1) });
    const named = await workspace.call(tools.search_content, { path: "x.bin", regex: "need" });
    expect(named).toMatchObject({ success: false, errorType: "invalid_format" });
    await writeFile(join(workspace.root, "big.txt"), "x\n".repeat(5_000_000));
    const large = await workspace.call(tools.search_content, { path: "big.txt", regex: "x" });
    expect(large).toMatchObject({ success: false, errorType: "too_large" });
  });

  it.each([
    ["a broken expression", { path: ".", regex: "(unclosed" }, "invalid_parameter"],
    ["lookahead", { path: ".", regex: "a(?=b)" }, "invalid_parameter"],
    ["a backreference", { path: ".", regex: "(a)\\1" }, "invalid_parameter"],
    ["too large a repeat", { path: ".", regex: "(a{900}){900}" }, "invalid_parameter"],
    ["an empty expression", { path: ".", regex: "" }, "invalid_parameter"],
    ["a missing folder", { path: "nowhere", regex: "a" }, "not_found"],
  ])("refuses %s", async (_, input, errorType) => {
    await workspace.fill({ "a.txt": "ab" });
    expect(await workspace.call(tools.search_content, input)).toMatchObject({ success: false, errorType });
  });

  it("says what to try when nothing is found", async () => {
    await workspace.fill({ "a.txt": "ab" });
    const result = await workspace.call(tools.search_content, { path: ".", regex: "xyz" });
    expect(result).toMatchObject({ success: true, data: { matches: [] } });
    expect(result.content).toMatch(/No line matches xyz.*shorter/);
  });

  it("keeps its answer short and says that there is more", async () => {
    await workspace.fill({ "a.txt": "a needle in a long line of text\n".repeat(1000) });
    const result = await workspace.call(tools.search_content, { path: ".", regex: "needle" });
    expect(result.content?.length).toBeLessThanOrEqual(16_000);
    expect(result.content).toMatch(/more matches are not shown/);
    expect(result.data).toMatchObject({ complete: false });
  });

  it.each(["(a+)+$", "(a|aa)+$", "(.*a){20}b", "([a-z]+)*[0-9]", "a[ab]{300}a[ab]{300}[x-z]"])(
    "lets other work run while it searches hard text for %s",
    async (regex) => {
      await workspace.fill({ "evil.txt": `${"ab".repeat(6000)}!\n`.repeat(5) });
      let turns = 0;
      let isOver = false;
      const other = (async () => {
        for (; !isOver; turns += 1) await new Promise<void>((resolve) => setImmediate(resolve));
      })();
      const result = await workspace.call(tools.search_content, { path: ".", regex, context_lines: 0 });
      isOver = true;
      await other;
      expect(result).toMatchObject({ success: true });
      expect(turns).toBeGreaterThan(1);
    },
  );
});
