import { expect, it } from "vitest";
import { createChangedFiles } from "../../src/context/workspace/changed-files.ts";

it("knows each file that has changed once, the newest first, for 30 seconds (CTX-11)", () => {
  const changed = createChangedFiles();
  changed.note("a", 0);
  changed.note("b", 10_000);
  changed.note("c", 20_000);
  changed.note("b", 25_000);
  expect(changed.recent(29_999)).toEqual(["b", "c", "a"]);
  expect(changed.recent(30_000)).toEqual(["b", "c"]);
  changed.note("d", 54_000);
  expect(changed.recent(54_000)).toEqual(["d", "b"]);
  expect(changed.recent(90_000)).toEqual([]);
});
