import { expect, it } from "vitest";
import { demo, runNode } from "../../../tests/support/processes/run-demo.ts";

it("npm run demo -- code shows all of its steps", { timeout: 180_000 }, async () => {
  const { code, output } = await runNode([demo, "code"]);
  expect(output).toContain("Everything the demo promises happened.");
  for (const words of ["Answer: approve.", "← ✓ Exit code 0.", "src/toll.js is what it was."]) {
    expect(output).toContain(words);
  }
  expect(code).toBe(0);
});
