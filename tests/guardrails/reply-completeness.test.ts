import { describe, expect, it } from "vitest";
import { breaksOff, completenessOf, looksCut } from "../../src/guardrails/reply-completeness.ts";

describe("whether a reply is complete", () => {
  it.each([
    ["Done: 42.", "sentence_end"],
    ["文件夹里有三个文件。", "sentence_end"],
    ["真的！", "sentence_end"],
    ["What do you mean?", "sentence_end"],
    ["要删除吗？", "sentence_end"],
    ['He said "go."', "sentence_end"],
    ["好的。😀", "sentence_end"],
    ["**Moved.**", "sentence_end"],
    ["all done", "completion_word"],
    ["已完成", "completion_word"],
    ["处理完毕", "completion_word"],
    ["任务结束", "completion_word"],
    ["x".repeat(100), "length"],
    ["字".repeat(100), "length"],
  ])("%s is, by its %s", (reply, by) => {
    expect(completenessOf(reply)).toEqual({ complete: true, by });
  });

  it.each([
    ["", "empty"],
    [" \n ", "empty"],
    ["42", "short"],
    ["x".repeat(99), "short"],
    ["字".repeat(99), "short"],
    ["I have moved a.txt and", "torn"],
    ["Finished with the first, and now the", "torn"],
    ["已完成以下操作：", "torn"],
    ["第一步，", "torn"],
    [`${"word ".repeat(40)}because`, "torn"],
    ["Here it is.\n```ts\nconst a = 1;", "torn"],
  ])("%j is not: %s", (reply, why) => {
    expect(completenessOf(reply)).toEqual({ complete: false, why });
  });

  it("counts the characters that the caller wants", () => {
    expect(completenessOf("twenty characters ok", 20)).toEqual({ complete: true, by: "length" });
    expect(completenessOf("twenty characters ok", 21)).toEqual({ complete: false, why: "short" });
  });
});

describe("whether a reply breaks off", () => {
  it.each([
    "Let me read the second file now:",
    "I'll move the rest next",
    "Now I will check the other folders,",
    "a.txt is there. Next, I look into b",
    "接下来我来检查其他文件夹：",
    "我将继续移动剩下的文件",
    "让我看一下 notes.md，",
    `${"The first part is through. ".repeat(6)}Let me now update the configuration:`,
  ])("%s", (reply) => {
    expect(breaksOff(reply)).toBe(true);
  });

  it.each([
    "42",
    "Done: 42",
    "a.txt, b.txt",
    "Let me know if you want more",
    "Let me know what to do next",
    "If you like, I'll delete it too",
    "I will not touch the rest",
    "I'll be happy to help",
    "The result is:\n42",
    "- a.txt\n- b.txt",
    "Yes",
    "没有",
    "三个文件",
    "需要的话我来删除",
    "Let me now check the rest.",
  ])("does not with: %s", (reply) => {
    expect(breaksOff(reply)).toBe(false);
  });
});

describe("whether a final reply looks cut", () => {
  it.each([
    ["hello", undefined],
    ["42", undefined],
    ["Paris", undefined],
    ["你好", undefined],
    ["src/index.ts", undefined],
    ["- a.txt\n- b.txt", undefined],
    ["```ts\nconst a = 1\n```", undefined],
    ["", undefined],
    ["It is so.", undefined],
    ["Hello my", "torn"],
    ["It is so because", "torn"],
    ["The files are:", "torn"],
    ["原因如下，", "torn"],
    ["```ts\nconst a", "torn"],
    [`${"It has been looked at. ".repeat(8)}It is in the`, "torn"],
    ["Next, I look into b", "announced"],
    ["我将继续移动剩下的文件", "announced"],
  ])("%j: %s", (reply, why) => {
    expect(looksCut(reply)).toBe(why);
  });
});
