import { describe, expect, it } from "vitest";
import { documentCompletion } from "../../progress/completion.ts";
import type { Turn } from "../../../../src/guardrails/turn.ts";
import { call, listing, move, turnOf } from "./task-turn.ts";

const files = ["a.txt", "b.txt", "c.md", "sub/", "sub/d.txt"];
const verdictOf = (turn: Turn) => {
  const { task, verdict, done, total, remaining } = documentCompletion.assess(turn);
  return [task, verdict, done, total, remaining];
};

describe("moving files", () => {
  it.each<[string, Turn, unknown[]]>([
    [
      "all of a kind, from a listing",
      turnOf("Move all txt files to texts/", [listing(files)], [move("a.txt", "texts/a.txt")]),
      ["file_move", "incomplete", 1, 2, ["b.txt"]],
    ],
    [
      "the same in Chinese",
      turnOf("把所有txt文件移动到 texts 文件夹", [listing(files)], [move("a.txt", "texts/a.txt")]),
      ["file_move", "incomplete", 1, 2, ["b.txt"]],
    ],
    [
      "all of a folder",
      turnOf(
        "move every file in inbox to done",
        [listing(["inbox/", "x.md", "inbox/a", "inbox/b"])],
        [move("inbox/a", "done/a")],
      ),
      ["file_move", "incomplete", 1, 2, ["inbox/b"]],
    ],
    [
      "all of a folder, in Chinese",
      turnOf(
        "把inbox里的文件都移到done",
        [listing(["inbox/", "x.md", "inbox/a", "inbox/b"])],
        [move("inbox/a", "done/a")],
      ),
      ["file_move", "incomplete", 1, 2, ["inbox/b"]],
    ],
    [
      "files that are named",
      turnOf("move a.txt, b.txt and c.md to texts", [move("a.txt", "texts/a.txt"), move("b.txt", "texts/b.txt")]),
      ["file_move", "incomplete", 2, 3, ["c.md"]],
    ],
    [
      "files that are named in Chinese",
      turnOf("把 a.txt、b.txt 和 c.md 移动到 texts", [move("a.txt", "texts/a.txt")]),
      ["file_move", "incomplete", 1, 3, ["b.txt", "c.md"]],
    ],
    [
      "calls beyond what one reply may hold",
      turnOf("tidy up", [move("a", "x/a"), move("b", "x/b"), move("c", "x/c", "open")]),
      ["file_move", "incomplete", 2, 3, ["c"]],
    ],
    [
      "all done",
      turnOf(
        "move all txt files to texts",
        [listing(files)],
        [move("a.txt", "texts/a.txt"), move("b.txt", "texts/b.txt")],
      ),
      ["file_move", "completed", 2, 2, []],
    ],
    [
      "named without their folder",
      turnOf(
        "move a.txt and b.txt to texts",
        [listing(["old/", "old/a.txt", "old/b.txt"])],
        [move("old/a.txt", "texts/a.txt"), move("old/b.txt", "texts/b.txt")],
      ),
      ["file_move", "completed", 2, 2, []],
    ],
    [
      "what was tried in vain or refused is not left over",
      turnOf(
        "move all txt files to texts",
        [listing(files)],
        [move("a.txt", "texts/a.txt", "failed"), move("b.txt", "texts/b.txt", "refused")],
      ),
      ["file_move", "none", 0, 2, []],
    ],
    [
      "what was deleted meanwhile is not left over",
      turnOf(
        "move all txt files to texts",
        [listing(files)],
        [move("a.txt", "texts/a.txt"), call("delete_file", { path: "b.txt" })],
      ),
      [null, "none", 0, 0, []],
    ],
    ["one file", turnOf("move a.txt to texts", [move("a.txt", "texts/a.txt")]), [null, "none", 0, 0, []]],
    [
      "an unknown number",
      turnOf("tidy up my notes", [move("a", "x/a"), move("b", "x/b")]),
      ["file_move", "none", 2, 2, []],
    ],
    [
      "a narrowed all",
      turnOf(
        "move all files about cats to pets",
        [listing(files)],
        [move("a.txt", "pets/a.txt"), move("c.md", "pets/c.md")],
      ),
      ["file_move", "none", 2, 2, []],
    ],
    [
      "an adjective that is no ending",
      turnOf("move all old files to attic", [listing(files)], [move("a.txt", "attic/a.txt")]),
      [null, "none", 0, 0, []],
    ],
    [
      "all with an exception",
      turnOf("move all txt files to texts except b.txt", [listing(files)], [move("a.txt", "texts/a.txt")]),
      [null, "none", 0, 0, []],
    ],
  ])("counts %s", (_name, turn, expected) => {
    expect(verdictOf(turn)).toEqual(expected);
  });

  it("takes a file that is moved twice for one", () => {
    const turn = turnOf(
      "move a.txt and b.txt to y",
      [move("a.txt", "x/a.txt"), move("b.txt", "y/b.txt")],
      [move("x/a.txt", "y/a.txt")],
    );
    expect(verdictOf(turn)).toEqual(["file_move", "completed", 2, 2, []]);
  });

  it("calls it classification when folders are made and the request is to sort: every file is placed", () => {
    const turn = turnOf(
      "Sort the files into folders by type",
      [listing(["a.txt", "b.md", "c.md"])],
      [call("create_folder", { path: "text" }), move("a.txt", "text/a.txt")],
    );
    expect(verdictOf(turn)).toEqual(["classification", "incomplete", 1, 3, ["b.md", "c.md"]]);
    const all = turnOf(
      "把这些文件按类型分类",
      [listing(["a.txt", "b.md"])],
      [call("create_folder", { path: "text" }), move("a.txt", "text/a.txt"), move("b.md", "text/b.md")],
    );
    expect(verdictOf(all)).toEqual(["classification", "completed", 2, 2, []]);
  });
});

describe("checking folders", () => {
  const cut = "\n[2400 further entries are not shown; list a folder by its path]";

  it.each<[string, Turn, unknown[]]>([
    [
      "a whole listing shows everything below",
      turnOf("check all folders for empty ones", [listing(["a/", "b/", "a/x"])]),
      ["recursive_check", "completed", 2, 2, []],
    ],
    [
      "a cut listing leaves what it names",
      turnOf("Check every folder", [listing(["a/", "b/", "c/"], undefined, cut)], [listing(["a/x"], "a")]),
      ["recursive_check", "incomplete", 1, 3, ["b", "c"]],
    ],
    [
      "a listing cut by the limit for results may end in half a path",
      turnOf("检查所有文件夹", [
        listing(["a/", "b/", "c/x"], undefined, "\n[… cut: 9 of 99 characters are not shown]"),
      ]),
      ["recursive_check", "incomplete", 0, 2, ["a", "b"]],
    ],
    [
      "only the folder that is named",
      turnOf(
        "check all folders in src",
        [listing(["docs/", "src/", "src/a/"], undefined, cut)],
        [listing(["src/a/", "src/b/"], "src")],
      ),
      ["recursive_check", "completed", 3, 3, []],
    ],
    [
      "closed and unreadable folders cannot be checked",
      turnOf(
        "逐一检查每个文件夹",
        [listing([".git/", "a/", "b/ (cannot be opened)"], undefined, cut)],
        [call("list_files", { path: "a" }, "Error", "failed")],
      ),
      ["recursive_check", "completed", 3, 3, []],
    ],
    [
      "a plain listing is no task",
      turnOf("list the files", [listing(["a/"], undefined, cut)]),
      [null, "none", 0, 0, []],
    ],
    [
      "folders deleted meanwhile are not left over",
      turnOf(
        "check all folders and delete empty ones",
        [listing(["a/", "b/", "c/"], undefined, cut)],
        [
          listing([], "a", "a is empty."),
          call("delete_file", { path: "a" }),
          listing(["b/x"], "b"),
          listing(["c/x"], "c"),
        ],
      ),
      ["recursive_check", "completed", 2, 2, []],
    ],
  ])("%s", (_name, turn, expected) => {
    expect(verdictOf(turn)).toEqual(expected);
  });
});

describe("reading files", () => {
  it.each([
    ["What does notes.md say?", "completed"],
    ["summarise notes.md", "completed"],
    ["give me an overview of notes.md", "completed"],
    ["notes.md 写了什么", "completed"],
    ["这个文件的内容是什么", "completed"],
    ["fix the date in notes.md", "none"],
    ["修改 notes.md 里的日期", "none"],
  ])("%s", (request, verdict) => {
    expect(verdictOf(turnOf(request, [call("read_file", { path: "notes.md" }, "text")]))).toEqual([
      "reading",
      verdict,
      1,
      1,
      [],
    ]);
  });
});
