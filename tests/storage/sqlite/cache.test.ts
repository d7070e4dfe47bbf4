import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ThreadCache } from "@millrace/engine/storage/sqlite/cache";
import { ThreadItems } from "@millrace/engine/storage/sqlite/checkpoints/items";

beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());

const names = ["a", "b", "c", "d"];
const fill = (cache: ThreadCache): void => names.forEach((name, at) => void cache.add(new ThreadItems(at, name)));
const held = (cache: ThreadCache): string[] => names.filter((name) => cache.get(name) !== undefined);

test("the threads used last stay, as many as are allowed (SESS-17)", () => {
  const cache = new ThreadCache({ threads: 2, seconds: 300 });
  fill(cache);
  expect(held(cache)).toEqual(["c", "d"]);
  cache.get("c");
  cache.add(new ThreadItems(9, "a"));
  expect(held(cache)).toEqual(["a", "c"]);
});

test("a thread that nobody has used for so long goes when the next one is used", () => {
  const cache = new ThreadCache({ threads: 10, seconds: 300 });
  fill(cache);
  vi.setSystemTime(Date.now() + 200_000);
  cache.get("b");
  vi.setSystemTime(Date.now() + 101_000);
  cache.add(new ThreadItems(9, "d"));
  expect(held(cache)).toEqual(["b", "d"]);
});
