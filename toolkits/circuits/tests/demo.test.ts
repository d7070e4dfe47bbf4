import { expect, it } from "vitest";
import { demo, runNode } from "../../../tests/support/processes/run-demo.ts";

it("npm run demo -- circuit shows all of its steps", { timeout: 180_000 }, async () => {
  const { code, output } = await runNode([demo, "circuit"]);
  expect(output).toContain("Everything the demo promises happened.");
  for (const words of [
    "bandwidth 159.15 Hz",
    "missed: 104.17 MHz",
    "All goals are reached.",
    "Choice: accept_design.",
  ]) {
    expect(output).toContain(words);
  }
  expect(code).toBe(0);
});
