import { expect, it } from "vitest";
import { demo, runNode } from "../../../tests/support/processes/run-demo.ts";

it.each([
  [
    "circuit",
    ["bandwidth 159.15 Hz", "missed: 104.17 MHz", "All goals are reached.", "Choice: accept_design."],
    "Everything the demo promises happened.",
  ],
  [
    "circuit zh",
    ["unity_gain_frequency：不低于 200 MHz，未达到：104.17 MHz", "目标全部达成。", "选择：accept_design。"],
    "演示的各个步骤均已完成。",
  ],
])("npm run demo -- %s shows all of its steps", { timeout: 180_000 }, async (words, lines, end) => {
  const { code, output } = await runNode([demo, ...words.split(" ")]);
  for (const line of [...lines, end]) expect(output).toContain(line);
  expect(code).toBe(0);
});
