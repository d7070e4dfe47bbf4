import { readFileSync } from "node:fs";
import { encode } from "gpt-tokenizer/encoding/cl100k_base";
import { describe, expect, it } from "vitest";
import { leastTokensOf } from "@millrace/models/ollama/cut-prompt";

describe("the tokens that a text has at the very least", () => {
  it.each([
    ["", 0],
    ["The quick brown fox jumps over the lazy dog.", 9],
    ["const total = items.reduce((sum, item) => sum + item.price, 0);", 10],
    ['{"path":"notes.txt","lines":[1,22,333]}', 7],
    ["                    \n\n\n ==========================", 0],
    ["你好，世界", 1],
    ["请读取文件 notes.txt 的内容并总结要点", 6],
    ["naïve Straße Привет", 3],
  ])("of %j are %i", (text, tokens) => {
    expect(leastTokensOf(text)).toBe(tokens);
  });

  it.each([
    "README.md",
    "package.json",
    "docs/assistant/providers.md",
    "packages/engine/src/errors/error-texts.ts",
    "packages/models/src/registry/registry.ts",
    "tests/models/wire/qwen-call.sse",
  ])("of %s are no more than a tokenizer finds, and not much fewer", (path) => {
    const text = readFileSync(new URL(`../../../${path}`, import.meta.url), "utf8");
    const tokens = encode(text).length;
    expect(leastTokensOf(text)).toBeLessThanOrEqual(tokens);
    expect(leastTokensOf(text)).toBeGreaterThan(tokens * 0.3);
  });
});
