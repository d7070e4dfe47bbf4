import { describe, expect, it } from "vitest";
import { contentOf } from "../../../console/api/file-content.ts";
import { marksOf, rowsIn, type FileChange } from "../../../console/run/file-marks.ts";
import { rowsOf, separatorOf } from "../../../console/run/separated.ts";

describe("a text of separated values", () => {
  it.each([
    [
      "a,b\n1,2\n",
      "a.csv",
      [
        ["a", "b"],
        ["1", "2"],
      ],
    ],
    [
      "a,b\r\n1,\r\n",
      "a.CSV",
      [
        ["a", "b"],
        ["1", ""],
      ],
    ],
    ['"one, two","say ""yes""\nor no"\nx', "a.csv", [["one, two", 'say "yes"\nor no'], ["x"]]],
    [
      "\uFEFFa;b\n1,5;2",
      "a.csv",
      [
        ["a", "b"],
        ["1,5", "2"],
      ],
    ],
    ["a\tb,c", "a.tsv", [["a", "b,c"]]],
    ['"never closed,b\nc', "a.csv", [['"never closed', "b"], ["c"]]],
    ['"a"b,c', "a.csv", [['"a"b', "c"]]],
    ["", "a.csv", []],
    ["\n\n", "a.csv", [[""], [""]]],
  ])("%j of %s is read row by row", (text, path, rows) => {
    expect(rowsOf(text, separatorOf(path) ?? ",", 100)).toEqual({ rows, isWhole: true });
  });

  it("is read as far as it is shown, and is no table under another name", () => {
    expect(rowsOf("a\nb\nc\n", ",", 2)).toEqual({ rows: [["a"], ["b"]], isWhole: false });
    expect(separatorOf("a.csv.md")).toBeUndefined();
  });
});

describe("the marks of a tree", () => {
  const change = (path: string, before: string | null, after: string | null): FileChange => {
    return { path, before, after, lines_added: 2, lines_removed: 1 };
  };

  it("stand at files that a chat has changed, and at each folder above them", () => {
    const { files, folders } = marksOf([
      change("a/b/new.md", "absent", "file"),
      change("a/old.md", "file", "file"),
      change("a/gone.md", "file", "absent"),
      change("never.md", "absent", "absent"),
    ]);
    expect([...files]).toEqual([
      ["a/b/new.md", { added: 2, removed: 1 }],
      ["a/old.md", { added: 2, removed: 1 }],
    ]);
    expect([...folders]).toEqual([
      ["a/b", 1],
      ["a", 3],
    ]);
  });

  it("stand also at what a chat has deleted, where it was", () => {
    const marks = marksOf([
      change("gone.md", "file", "absent"),
      change("again.md", "file", "absent"),
      change("a/gone.md", "file", "absent"),
      change("lost/b.md", "file", "absent"),
      change("c", "folder", "absent"),
    ]);
    const row = (path: string, kind = "file") => ({ path, name: path.split("/").at(-1) ?? path, kind });
    const shown = (folder: string, entries: ReturnType<typeof row>[]) =>
      rowsIn(folder, entries, marks).map(({ name, isGone }) => (isGone ? `(${name})` : name));
    const root = [row("a", "folder"), row("d", "folder"), row("again.md"), row("z.md")];
    expect(shown("", root)).toEqual(["a", "(c)", "d", "again.md", "(gone.md)", "(lost/b.md)", "z.md"]);
    expect(shown("a", [row("a/z.md")])).toEqual(["(gone.md)", "z.md"]);
    expect(shown("d", [])).toEqual([]);
    expect(marks.folders.get("a")).toBe(1);
  });
});

describe("a file of an answer", () => {
  it.each([
    ["a.txt", "words", "text"],
    ["a.png", "words", "picture"],
    ["a.bin", "\u{0}\xff", "bytes"],
    ["a.pdf", "%PDF-1.4\nletters alone", "bytes"],
  ])("%s is shown as what it holds", async (name, content, kind) => {
    const headers = { "content-disposition": `attachment; filename=${name}` };
    expect(await contentOf(new Response(Buffer.from(content, "latin1"), { headers }))).toMatchObject({ kind });
  });
});
