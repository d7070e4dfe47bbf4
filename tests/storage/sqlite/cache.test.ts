import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ThreadCache } from "@millrace/engine/storage/checkpoints/cache";
import { ThreadItems } from "@millrace/engine/storage/checkpoints/items";
import type { Snapshot } from "@millrace/engine/storage/checkpoints/snapshot";

beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());

/** A stored state that only has the given size. */
const snapshot = (size: number): Snapshot => ({
  key: 0,
  id: "1",
  version: 1,
  time: 0,
  metadata: "{}",
  versions: new Map(),
  seen: new Map(),
  values: new Map(),
  parent: undefined,
  run: undefined,
  base: undefined,
  size,
  diffSize: 0,
});
const names = ["a", "b", "c", "d"];
const fill = (cache: ThreadCache): void => names.forEach((name, at) => void cache.add(new ThreadItems(at, name)));
const held = (cache: ThreadCache): string[] => names.filter((name) => cache.get(name) !== undefined);

test("the cache keeps the most recently used threads up to its limit (SESS-17)", () => {
  const cache = new ThreadCache({ threads: 2, seconds: 300 });
  fill(cache);
  expect(held(cache)).toEqual(["c", "d"]);
  cache.get("c");
  cache.add(new ThreadItems(9, "a"));
  expect(held(cache)).toEqual(["a", "c"]);
});

test("the cache evicts a thread that was unused for too long when another one is used", () => {
  const cache = new ThreadCache({ threads: 10, seconds: 300 });
  fill(cache);
  vi.setSystemTime(Date.now() + 200_000);
  cache.get("b");
  vi.setSystemTime(Date.now() + 101_000);
  cache.add(new ThreadItems(9, "d"));
  expect(held(cache)).toEqual(["b", "d"]);
});

test("the cache evicts the least recently used threads above 48 million characters (SESS-21)", () => {
  const cache = new ThreadCache({ threads: 10, seconds: 300 });
  const million = 1024 * 1024;
  const hold = (name: string, size: number): void => {
    const state = cache.get(name) ?? cache.add(new ThreadItems(0, name));
    cache.touch(state, "", { key: 0, last: snapshot(size), weight: 0 });
  };
  for (const name of names) hold(name, 11 * million);
  expect(held(cache)).toEqual(["a", "b", "c", "d"]);
  hold("d", 20 * million);
  expect(held(cache)).toEqual(["b", "c", "d"]);
  // A single thread above the limit stays while it is in use.
  hold("d", 60 * million);
  expect(held(cache)).toEqual(["d"]);
});
