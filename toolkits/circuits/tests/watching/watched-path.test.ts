import { expect, it } from "vitest";
import { isWatchedFile, isWatchedFolder } from "../../watching/watched-path.ts";

it.each(["amp.cir", "a/b/OPAMP.CIR", "a.sp", "a.spice", "amp_sim.json", "a.png", "a.jpg", "models.lib", "a.sub"])(
  "%s is watched",
  (path) => {
    expect(isWatchedFile(path)).toBe(true);
  },
);

it.each([
  "notes.txt",
  "a.docx",
  "cir",
  ".cir",
  "amp.cir.tmp",
  "amp.cir~",
  ".amp.cir.swp",
  "amp.bak",
  "amp.cir.BAK",
  "a.jpeg",
])("%s is not watched", (path) => {
  expect(isWatchedFile(path)).toBe(false);
});

it.each([
  ["circuits", true],
  ["a/b.v2", true],
  [".millrace", true],
  [".circuit_ai", false],
  ["a/.circuit_ai", false],
  [".git", false],
  ["a/node_modules", false],
  ["a/old.bak", false],
  ["upload.tmp", false],
])("the folder %s is looked into: %s", (path, isLookedInto) => {
  expect(isWatchedFolder(path)).toBe(isLookedInto);
});
