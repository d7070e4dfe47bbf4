import { expect, it } from "vitest";
import { demo, runNode } from "../../../tests/support/processes/run-demo.ts";

it.each([
  [
    "code",
    ["Answer: approve.", "← ✓ Exit code 0.", "src/toll.js is what it was.", "Everything the demo promises happened."],
  ],
  ["code zh", ["回答：同意。", "← ✓ 退出码 0。", "src/toll.js 已恢复原样。", "演示的各个步骤均已完成。"]],
])("npm run demo -- %s shows all of its steps", { timeout: 180_000 }, async (words, lines) => {
  const { code, output } = await runNode([demo, ...words.split(" ")]);
  for (const line of lines) expect(output).toContain(line);
  expect(code).toBe(0);
});
