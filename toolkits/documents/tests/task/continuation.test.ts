import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { maxForced, neededRound } from "../../../../src/guardrails/completion.ts";
import { documentCompletion as completion } from "../../progress/completion.ts";
import type { PastCall, Round, Turn } from "../../../../src/guardrails/turn.ts";
import { call, listing, move, says, turnOf } from "./task-turn.ts";

const three = listing(["a.txt", "b.txt", "c.txt"]);
const moveAll = (...moves: PastCall[]): PastCall[][] => [[three], moves];
const moved = (name: string, outcome?: PastCall["outcome"]) => move(name, `texts/${name}`, outcome);
const owedBy = (turn: Turn, forced = 0) => neededRound(turn, { forced, completion });
const kindOf = (turn: Turn, forced = 0) => owedBy(turn, forced)?.kind ?? null;

const allThree = moveAll(moved("a.txt"), moved("b.txt"), moved("c.txt"));
const onlyOne = moveAll(moved("a.txt"));
const request = "Move all txt files to texts/";
const cut = "\n[2400 further entries are not shown; list a folder by its path]";
const notes = call(
  "read_file",
  { path: "notes.md" },
  "# Plans\n\nBuild a mill by the river. Call Ann about the wheel.",
);

describe("work that is left", () => {
  it.each([
    ["I moved a.txt.", "file_move"],
    ["All files have been moved to texts/.", "file_move"],
    ["a.txt is moved. I will now move the other two.", "file_move"],
    ["I moved one file. Shall I continue with the rest?", "file_move"],
    ["已移动 a.txt，接下来继续移动其他文件。", "file_move"],
    ["已移动一个文件，要继续吗？", "file_move"],
  ])("is asked for when the model says: %s", (reply, kind) => {
    expect(kindOf(turnOf(request, ...onlyOne, says(reply)))).toBe(kind);
  });

  it("names what is left, after the progress, and the tool to use", () => {
    const prompt = owedBy(turnOf(request, ...onlyOne, says("I moved a.txt.")))?.prompt ?? "";
    expect(prompt.startsWith("Progress: 1 of 3 files are moved.")).toBe(true);
    expect(prompt).toContain("b.txt, c.txt");
    expect(prompt).toContain("move_file");
    const folders = turnOf(
      "check all folders",
      [listing(["a/", "b/"], undefined, cut)],
      says("There are two folders."),
    );
    const check = owedBy(folders);
    expect(check?.kind).toBe("folder_check");
    expect(check?.prompt).toMatch(/^Progress: 0 of 2 folders are checked\.\n.*a, b\.\n.*list_files/u);
  });

  it.each([
    "I moved a.txt. b.txt and c.txt are already in texts, so I left them alone.",
    "Moved a.txt; I could not move the other 2: the folder is locked.",
    "已移动 a.txt。b.txt 和 c.txt 不存在，无法移动。",
    "Moved a.txt. The rest stays where it is, since it is not text.",
  ])("is not when the model says why: %s", (reply) => {
    expect(kindOf(turnOf(request, ...onlyOne, says(reply)))).toBeNull();
  });

  it("is not asked for while calls run, before any reply, and when a person refused it", () => {
    expect(owedBy(turnOf(request, ...onlyOne))).toBeNull();
    expect(owedBy(turnOf(request))).toBeNull();
    const refused = moveAll(moved("a.txt"), moved("b.txt", "refused"), moved("c.txt", "failed"));
    expect(kindOf(turnOf(request, ...refused, says("a.txt is in texts now.")))).toBeNull();
  });

  it("is asked for five times at most", () => {
    const turn = turnOf(request, ...onlyOne, says("One is moved."));
    expect(maxForced).toBe(5);
    expect(kindOf(turn, maxForced - 1)).toBe("file_move");
    expect(kindOf(turn, maxForced)).toBeNull();
    expect(neededRound(turn, { forced: 2, limit: 2, completion })).toBeNull();
  });

  it("is not asked for again when a forced reply repeats the words before it", () => {
    const same = [says("One is moved."), says(" One is moved. ", true)];
    expect(kindOf(turnOf(request, ...onlyOne, ...same), 1)).toBeNull();
    const other = [says("One is moved."), says("Well, one of them is moved.", true)];
    expect(kindOf(turnOf(request, ...onlyOne, ...other), 1)).toBe("file_move");
  });
});

describe("a reply that breaks off or is empty", () => {
  it.each([
    ["Let me read the second file now:", "incomplete_reply"],
    ["让我看一下 notes.md：", "incomplete_reply"],
    ["", "empty_reply"],
    ["  \n", "empty_reply"],
  ])("%j is owed its %s", (reply, kind) => {
    expect(kindOf(turnOf("look at my notes", [notes], says(reply)))).toBe(kind);
    expect(kindOf(turnOf("look at my notes", says(reply)))).toBe(kind);
  });

  it("ends when it stays empty", () => {
    expect(kindOf(turnOf("hello", says(""), says("", true)), 1)).toBeNull();
  });
});

describe("the summary at the end", () => {
  it.each(["Done.", "OK!", "已完成。", "好了。"])(
    "is never asked for once the files say that all is done: %s",
    (reply) => {
      expect(kindOf(turnOf(request, ...allThree, says(reply)))).toBeNull();
    },
  );

  it.each([
    ["Summarise notes.md into s.md", "create_file"],
    ["read notes.md and write a summary to s.md", "write_file"],
    ["把 notes.md 总结到 s.md", "create_file"],
  ])("is not asked for when it was written down: %s", (asked, tool) => {
    const written = call(tool, { path: "s.md", content: "It is about a mill." }, "Created s.md.");
    expect(kindOf(turnOf(asked, [notes], [{ ...written, changes: true }], says("Done.")))).toBeNull();
  });

  it("is not looked at outside of the document profile, where only an empty or broken reply is asked again", () => {
    expect(
      neededRound(turnOf("What does notes.md say?", [notes], says("I have read the file.")), { forced: 0 }),
    ).toBeNull();
    expect(neededRound(turnOf(request, ...onlyOne, says("I moved a.txt.")), { forced: 0 })).toBeNull();
    expect(neededRound(turnOf(request, ...onlyOne, says("")), { forced: 0 })?.kind).toBe("empty_reply");
  });

  it.each(["I have read the file.", "已读取。", "The file is read"])("of a text is asked for after %s", (reply) => {
    expect(kindOf(turnOf("What does notes.md say?", [notes], says(reply)))).toBe("file_summary");
  });

  it.each("summary,done,processed,main content,key information,总结,完成,已处理,主要内容,关键信息".split(","))(
    "is known by its words and more than 50 characters: %s (TASK-08)",
    (marker) => {
      const plain = "Somebody wants to put up a building beside the water and to phone a friend of theirs.";
      const kindAfter = (reply: string) => kindOf(turnOf("What does notes.md say?", [notes], says(reply)));
      expect(kindAfter(`${marker}: ${plain}`)).toBeNull();
      expect(kindAfter(plain)).toBe("file_summary");
      const text = `${marker}: ${"z".repeat(50)}`;
      expect(kindAfter(text.slice(0, 50))).toBe("file_summary");
      expect(kindAfter(text.slice(0, 51))).toBeNull();
    },
  );

  it("is asked for once: the answer counts when it has some length", () => {
    const answer = says("Somebody wants to put up a building beside the water and to phone a friend of theirs.", true);
    const asked = "What does notes.md say?";
    expect(kindOf(turnOf(asked, [notes], says("OK!"), answer), 1)).toBeNull();
    expect(kindOf(turnOf(asked, [notes], says("OK!"), says("Yes.", true)), 1)).toBe("file_summary");
  });
});

describe("an honest reply ends the turn (TASK-10)", () => {
  const ends: [string, string, (PastCall[] | Round)[]][] = [
    ["a sum", "what is 6 times 7?", [says("42")]],
    ["a result in a word", "count the lines of a.txt", [[call("read_file", { path: "a.txt" }, "x")], says("Done: 42")]],
    ["a yes", "is there a readme?", [[three], says("No")]],
    ["a no in Chinese", "有 readme 吗", [[three], says("没有")]],
    ["a list without a mark at the end", "list the files", [[three], says("a.txt, b.txt, c.txt")]],
    ["a list in Chinese", "列出文件", [[three], says("有三个文件：\n- a.txt\n- b.txt\n- c.txt")]],
    ["one file moved", "move a.txt to texts", [[moved("a.txt")], says("Moved.")]],
    ["one file moved, in Chinese", "把a.txt移到texts", [[moved("a.txt")], says("已移动")]],
    ["three moved, with the number", request, [...allThree, says("Moved all 3 files to texts/.")]],
    ["three moved, by name", request, [...allThree, says("a.txt, b.txt and c.txt are in texts now")]],
    ["three moved, in Chinese", "把所有txt文件移动到texts", [...allThree, says("三个文件都移到 texts 了。")]],
    ["some moved of an unknown number", "tidy up", [[moved("a.txt"), moved("b.txt")], says("Tidy now.")]],
    ["a file read to change it", "fix the date in notes.md", [[notes], says("Fixed")]],
    ["a question back", "delete the old one", [[three], says("Which one do you mean, a.txt or b.txt?")]],
    ["a question back in Chinese", "删除旧的", [[three], says("要删除哪一个？")]],
    [
      "a failure",
      "read x.md",
      [[call("read_file", { path: "x.md" }, "Error", "failed")], says("There is no x.md here.")],
    ],
    ["what a short text says", "what does notes.md say?", [[notes], says("Build a mill, and call Ann.")]],
    [
      "what a text says, with the word",
      "总结 notes.md",
      [[notes], says(`主要内容：${"作者计划在河边建一座水磨坊，并打电话给安讨论水轮的事情，".repeat(2)}`)],
    ],
    ["an offer", "read notes.md", [[notes], says("It is about a mill. If you like, I'll sum it up")]],
    [
      "a folder look without more",
      "what folders are there?",
      [[listing(["a/", "b/"], undefined, cut)], says("a and b")],
    ],
    [
      "all folders in one listing",
      "are there empty folders? check all folders",
      [[listing(["a/", "b/", "b/x"])], says("Of all folders I looked into, a is empty.")],
    ],
    ["a code block", "show me a loop", [says("```ts\nfor (;;) {}\n```")]],
    ["thanks", "thanks!", [says("You're welcome 😀")]],
    ["thanks in Chinese", "谢谢", [says("不客气～")]],
    ["an address", "where is it?", [says("https://example.org/a")]],
    [
      "files created on the way",
      "create a.md and b.md",
      [[call("create_file", { path: "a.md" }), call("create_file", { path: "b.md" })], says("Both are there")],
    ],
  ];

  it.each(ends)("%s", (_name, userRequest, rounds) => {
    expect(owedBy(turnOf(userRequest, ...rounds))).toBeNull();
  });
});

describe("any turn", () => {
  const anyCall = fc.oneof(
    fc
      .tuple(
        fc.constantFrom("a", "b", "c/d"),
        fc.constantFrom("x/a", "x/b", "b"),
        fc.constantFrom("success", "failed", "refused", "open"),
      )
      .map(([from, to, outcome]) => move(from, to, outcome)),
    fc
      .array(fc.constantFrom("a", "b", "c/", "c/d", "e/ (cannot be opened)", "", "]["), { maxLength: 5 })
      .map((entries) => listing(entries)),
  );
  const anyRound = fc.oneof(
    fc.array(anyCall, { minLength: 1, maxLength: 4 }),
    fc.tuple(fc.string(), fc.boolean()).map(([text, forced]) => says(text, forced)),
  );
  const requests = fc.constantFrom(
    "move all files to x",
    "check all folders",
    "把所有文件移动到x",
    "总结",
    "move a.b, c.d to x",
  );

  it("is judged without an error, never owes after five rounds, and counts every item once", () => {
    fc.assert(
      fc.property(requests, fc.array(anyRound, { maxLength: 8 }), fc.nat({ max: 8 }), (text, rounds, forced) => {
        const turn = turnOf(text, ...rounds);
        const found = owedBy(turn, forced);
        if (forced >= maxForced) expect(found).toBeNull();
        if (found !== null) expect(found.prompt.length).toBeGreaterThan(20);
        const { done, total, remaining, failed } = completion.assess(turn);
        expect(done + new Set([...remaining, ...failed]).size).toBe(total);
      }),
    );
  });

  it("is judged in time that grows with its text only", () => {
    const long = "把".repeat(20_000) + " x.".repeat(20_000) + "所有".repeat(5000);
    expect(owedBy(turnOf(`move ${long}`, [moved("a.txt"), moved("b.txt")], says(`${long}`)))).toBeNull();
  });
});
