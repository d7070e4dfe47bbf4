import { describe, expect, it } from "vitest";
import { learnLimit, namedLimit, withLearned } from "@millrace/models/registry/learned-limits";
import type { ModelLoader } from "@millrace/models/load-model";

const aLoader = (): ModelLoader => () => {
  throw new Error("not called");
};

describe("the limit that an error names", () => {
  it.each([
    ["This model's maximum context length is 8192 tokens. However, you requested 9000 tokens", 8192],
    ["maximum context length is 128,000 tokens, your messages resulted in 130,211", 128_000],
    ["prompt is too long: 210000 tokens > 200000 maximum", 200_000],
    ["the request exceeds the available context size (4096 tokens)", 4096],
    ["Range of input length should be [1, 30720]", undefined],
    ["exceeded max of 32k tokens", 32_768],
    ["Token超限：最大长度为 32768", 32_768],
    ["输入超出模型上下文长度限制 131072", 131_072],
    ["too many tokens", undefined],
    ["", undefined],
  ])("%j", (text, limit) => {
    expect(namedLimit(text)).toBe(limit);
  });

  it("is looked for in the beginning of a text only, however it was made to hold one up", () => {
    for (const hostile of ["maximum context length ", "9,", "max max limit ", "9".repeat(20)]) {
      expect(namedLimit(hostile.repeat(100_000))).toBeOneOf([undefined, expect.any(Number)]);
    }
    expect(namedLimit(`${"x".repeat(5000)}maximum context length is 8192`)).toBeUndefined();
  });
});

describe("what is learned of a model", () => {
  it.each([
    ["the limit that is named", "maximum context length is 8192 tokens", 20_000, 8192],
    ["less than what failed, where none is named", "too many tokens", 20_000, 18_000],
    ["less than what failed, where more than that is named", "maximum context length is 30000", 20_000, 18_000],
    ["never less than what is of use", "maximum context length is 100 tokens", 5, 1024],
  ])("is %s", (_, message, tokens, limit) => {
    const loader = aLoader();
    learnLimit(loader, "openai:a", { message, tokens });
    expect(withLearned(loader, "openai:a", 128_000)).toBe(limit);
    expect(withLearned(loader, "openai:b", 128_000)).toBe(128_000);
    expect(withLearned(aLoader(), "openai:a", 128_000)).toBe(128_000);
    learnLimit(loader, "openai:a", { message: "maximum context length is 99999", tokens: 99_999 });
    expect(withLearned(loader, "openai:a", 128_000)).toBe(limit);
  });

  it("is forgotten of the oldest of many models", () => {
    const loader = aLoader();
    for (let at = 0; at <= 100; at += 1) learnLimit(loader, `openai:${at}`, { message: "", tokens: 5000 });
    expect(withLearned(loader, "openai:0", 128_000)).toBe(128_000);
    expect(withLearned(loader, "openai:100", 128_000)).toBe(4500);
  });
});
