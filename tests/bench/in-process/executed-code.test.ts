import { expect, test } from "vitest";
import { executedCode } from "./executed-code.ts";

// It only ever goes down: 105 files and 417 functions before, 55 and 220 are the aim. What a change adds it says here: that
// checkpoints reach their rows through an interface, so that two databases can hold them, added two files and 17 functions;
// that what model calls use is counted for owners, and that assistants are looked for alike in both, two files and 12 functions.
const maxFiles = 56;
const maxFunctions = 256;

test("a streamed run of a graph that does nothing goes through few of our files and functions", async () => {
  const { files, functions, calls, byFile, loaded } = await executedCode();
  console.log(`A streamed run of a no-op graph: ${files} files, ${functions} functions, ${calls} calls of ours.`);
  expect(files, Object.keys(byFile).join("\n")).toBeLessThanOrEqual(maxFiles);
  expect(functions).toBeLessThanOrEqual(maxFunctions);
  // Without an address OpenTelemetry is not loaded, and no run asks for it.
  expect(loaded.length).toBeGreaterThan(500);
  expect(loaded.filter((url) => url.includes("/@opentelemetry/"))).toEqual([]);
  expect(Object.keys(byFile).filter((file) => file.includes("/telemetry/"))).toEqual([]);
});
