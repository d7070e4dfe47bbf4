import { Session } from "node:inspector/promises";
import fc from "fast-check";
import { expect, it } from "vitest";
import { filesBelow } from "../../support/source-files.ts";

const folder = "packages/models/src/text-calls";

/** Where the lines of a source are that hold more than brackets and comments. */
function linesOf(source: string): { start: number; end: number }[] {
  let at = 0;
  return source.split("\n").flatMap((line) => {
    const start = at;
    at += line.length + 1;
    return /\w/u.test(line) && !/^\s*(?:\/\/|\/?\*)/u.test(line) ? [{ start, end: at - 1 }] : [];
  });
}

it("more than 80 % of the lines of the parser run for replies such as those of the split test (TEST-01)", async () => {
  const session = new Session();
  session.connect();
  try {
    await session.post("Profiler.enable");
    await session.post("Debugger.enable");
    await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });
    // What is loaded before the counting begins is not counted.
    const { cutReply, partsOf } = await import("./replies.ts");
    fc.assert(
      fc.property(cutReply, ({ pieces }) => partsOf(...pieces).length >= 0),
      { numRuns: 2000, seed: 20_261_121 },
    );
    const { result } = await session.post("Profiler.takePreciseCoverage");
    const known = new Set(filesBelow(folder).map((path) => path.split("/").at(-1) ?? ""));
    const files = result.filter(({ url }) => url.includes(`${folder}/`) && known.has(url.split("/").at(-1) ?? ""));
    let [lines, run] = [0, 0];
    for (const { scriptId, functions } of files) {
      const { scriptSource } = await session.post("Debugger.getScriptSource", { scriptId });
      // Ranges come from the outermost to the innermost, which knows best.
      const ranges = functions.flatMap((one) => one.ranges);
      for (const { start, end } of linesOf(scriptSource)) {
        const inner = ranges.findLast(({ startOffset, endOffset }) => startOffset <= start && endOffset >= end);
        lines += 1;
        if ((inner?.count ?? 0) > 0) run += 1;
      }
    }
    expect(files.map(({ url }) => url)).toContainEqual(expect.stringContaining("parser.ts"));
    expect(lines).toBeGreaterThan(500);
    expect(run / lines).toBeGreaterThan(0.8);
  } finally {
    session.disconnect();
  }
});
