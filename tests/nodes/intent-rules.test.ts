import { describe, expect, it } from "vitest";
import { routeByRules } from "../../src/nodes/intent-rules.ts";

describe("routing by rules", () => {
  it.each([
    ["thanks!", "reply"],
    ["Thank you so much", "reply"],
    ["你好", "reply"],
    ["谢谢！", "reply"],
    ["list the files", "free_work"],
    ["What is a flip-flop?", "free_work"],
    ["列出文件", "free_work"],
    ["compare a.md and b.md, summarise them and save the result", "plan"],
    ["比较这两个文件然后总结", "plan"],
    ["read notes.md and then delete draft.md", "plan"],
    ["读取 notes.md，然后创建 summary.md", "plan"],
    ["x".repeat(301), "plan"],
    ["x".repeat(300), "free_work"],
    ["Think it over and then tell me more", undefined],
  ])("%s goes to %s", (text, route) => {
    expect(routeByRules(text)?.route).toBe(route);
  });
});
