import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { changesBetween, type FileChange, type FileState } from "../../watching/file-changes.ts";

/** A file in short: its number, when it was born, when it was written, its size. */
const file = (id: string, born = 1, modified = born, size = 10): FileState => ({
  isFolder: false,
  id,
  born: BigInt(born),
  modified: BigInt(modified),
  size: BigInt(size),
});
const folder = (id: string): FileState => ({ ...file(id), isFolder: true });
const of = (path: string, event_type: "created" | "modified" | "deleted", is_directory = false): FileChange => ({
  path,
  event_type,
  is_directory,
});
const move = (path: string, dest_path: string, is_directory = false): FileChange => ({
  path,
  event_type: "moved",
  is_directory,
  dest_path,
});

type Case = [
  what: string,
  before: Record<string, FileState>,
  after: Record<string, FileState | undefined>,
  expected: FileChange[],
];
const cases: Case[] = [
  ["nothing", { "a.cir": file("1") }, { "a.cir": file("1") }, []],
  ["a new file", {}, { "a.cir": file("1") }, [of("a.cir", "created")]],
  ["a written file", { "a.cir": file("1", 1, 5) }, { "a.cir": file("1", 1, 6) }, [of("a.cir", "modified")]],
  ["one that another took the place of", { "a.cir": file("1") }, { "a.cir": file("2", 9) }, [of("a.cir", "modified")]],
  ["a deleted file", { "a.cir": file("1") }, { "a.cir": undefined }, [of("a.cir", "deleted")]],
  ["made and gone again", {}, { "a.cir": undefined }, []],
  ["a renamed file", { "a.cir": file("1") }, { "a.cir": undefined, "b.cir": file("1") }, [move("a.cir", "b.cir")]],
  [
    "a file that was renamed and then written",
    { "a.cir": file("1", 1, 5) },
    { "b.cir": file("1", 1, 7, 99), "a.cir": undefined },
    [move("a.cir", "b.cir")],
  ],
  [
    "another file that got the number of a deleted one",
    { "a.cir": file("1", 1, 5) },
    { "a.cir": undefined, "b.cir": file("1", 8, 8) },
    [of("a.cir", "deleted"), of("b.cir", "created")],
  ],
  [
    "two files that change places through a third name",
    { "a.cir": file("1"), "b.cir": file("2", 2) },
    { "a.cir": file("2", 2), "b.cir": file("1") },
    [of("a.cir", "modified"), of("b.cir", "modified")],
  ],
  [
    "a folder with a file, moved",
    { x: folder("1"), "x/a.cir": file("2") },
    { x: undefined, "x/a.cir": undefined, y: folder("1"), "y/a.cir": file("2") },
    [move("x", "y", true), move("x/a.cir", "y/a.cir")],
  ],
  ["a folder with other files in it", { x: folder("1") }, { x: folder("1") }, []],
  [
    "a file where a folder was",
    { "x.lib": folder("1") },
    { "x.lib": file("2") },
    [of("x.lib", "deleted", true), of("x.lib", "created")],
  ],
  ["a second name of a file that stays", { "a.cir": file("1") }, { "b.cir": file("1") }, [of("b.cir", "created")]],
];

describe("changes of files", () => {
  it.each(cases)("report %s", (_, before, after, expected) => {
    expect(changesBetween(new Map(Object.entries(before)), new Map(Object.entries(after)))).toEqual(expected);
  });

  it("lead a follower from the known state to the present one for any sequence of changes", () => {
    const state = fc.option(
      fc.record({
        isFolder: fc.boolean(),
        number: fc.integer({ min: 1, max: 4 }),
        modified: fc.integer({ min: 1, max: 3 }),
      }),
      { nil: undefined },
    );
    const world = fc.dictionary(fc.constantFrom("a", "b", "c", "d", "e"), state);
    fc.assert(
      fc.property(world, world, (first, second) => {
        const stateOf = (one: (typeof first)[string]): FileState | undefined =>
          one === undefined
            ? undefined
            : { ...file(String(one.number), one.number, one.modified), isFolder: one.isFolder };
        const before = new Map(
          Object.entries(first).flatMap(([path, one]) => {
            const known = stateOf(one);
            return known === undefined ? [] : [[path, known] as const];
          }),
        );
        const after = new Map([...before.keys()].map((path) => [path, stateOf(second[path])] as const));
        for (const [path, one] of Object.entries(second)) after.set(path, stateOf(one));
        const kinds = new Map([...before].map(([path, { isFolder }]) => [path, isFolder]));
        const changes = changesBetween(before, after);
        const going = changes.flatMap(({ path, event_type }) =>
          event_type === "deleted" || event_type === "moved" ? [path] : [],
        );
        for (const path of going) kinds.delete(path);
        for (const change of changes) {
          if (change.event_type === "created") kinds.set(change.path, change.is_directory);
          if (change.event_type === "moved") kinds.set(change.dest_path, change.is_directory);
          if (change.event_type === "modified") expect(kinds.get(change.path)).toBe(false);
        }
        const there = [...after].flatMap(([path, one]) => (one === undefined ? [] : [[path, one.isFolder] as const]));
        expect(kinds).toEqual(new Map(there));
      }),
    );
  });
});
