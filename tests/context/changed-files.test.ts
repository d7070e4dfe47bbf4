import { expect, it } from "vitest";
import { createChangedFiles } from "../../src/context/workspace/changed-files.ts";

it("knows each file that has changed once, the newest first, for 30 seconds (CTX-11)", () => {
  const changed = createChangedFiles();
  changed.record("a", 0);
  changed.record("b", 10_000);
  changed.record("c", 20_000);
  changed.record("b", 25_000);
  expect(changed.recent(29_999)).toEqual(["b", "c", "a"]);
  expect(changed.recent(30_000)).toEqual(["b", "c"]);
  changed.record("d", 54_000);
  expect(changed.recent(54_000)).toEqual(["d", "b"]);
  expect(changed.recent(90_000)).toEqual([]);
});
