import { setImmediate as nextTurn } from "node:timers/promises";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { ItemChange, ItemQuery } from "@millrace/engine/storage/items/store-items";
import { setClock, type StorageFixture } from "./records.ts";

const everything: ItemQuery = { prefix: [], limit: 100, offset: 0, refresh: false };
const minute = 60_000;

/** Items of the store, by namespace and key (wire contract, section 2.5). */
export function describeItems(fixture: StorageFixture): void {
  describe("items", () => {
    afterEach(() => void vi.useRealTimers());
    const write = (...changes: ItemChange[]): Promise<void> => fixture.storage.items.change("ada", changes);
    const keys = async (query: Partial<ItemQuery> = {}): Promise<string[]> =>
      (await fixture.storage.items.search("ada", { ...everything, ...query })).map(({ key }) => key);
    const namespaces = (query: object = {}) =>
      fixture.storage.items.namespaces("ada", { limit: 100, offset: 0, ...query });

    it("survive a restart, with the dates of creation and change", async () => {
      setClock(0);
      await write({ namespace: ["users", "1"], key: "name", value: { first: "Ada" } });
      vi.setSystemTime(minute);
      await write({ namespace: ["users", "1"], key: "name", value: { first: "Ida", tags: ["a", null] } });
      const { items } = await fixture.reopen();
      expect(await items.get("ada", ["users", "1"], "name", false)).toEqual({
        namespace: ["users", "1"],
        key: "name",
        value: { first: "Ida", tags: ["a", null] },
        created_at: "1970-01-01T00:00:00.000Z",
        updated_at: "1970-01-01T00:01:00.000Z",
      });
      expect(await items.get("ada", ["users"], "name", false)).toBeUndefined();
    });

    it("belong to one owner", async () => {
      const { items } = fixture.storage;
      await write({ namespace: ["a"], key: "k", value: { of: "ada" } });
      await items.change("bob", [{ namespace: ["a"], key: "k", value: { of: "bob" } }]);
      expect(await items.get("ada", ["a"], "k", false)).toMatchObject({ value: { of: "ada" } });
      expect(await items.search("bob", everything)).toMatchObject([{ value: { of: "bob" } }]);
      expect(await items.search("eve", everything)).toEqual([]);
      expect(await items.namespaces("eve", { limit: 10, offset: 0 })).toEqual([]);
    });

    it("are deleted by a null, and a missing item is ignored", async () => {
      await write({ namespace: ["a"], key: "k", value: {} }, { namespace: ["a"], key: "l", value: {} });
      await write({ namespace: ["a"], key: "k", value: null }, { namespace: ["b"], key: "k", value: null });
      expect(await keys()).toEqual(["l"]);
    });

    it("change only what contains their filter, all or nothing", async () => {
      setClock(0);
      const put = { namespace: ["a"], key: "k", value: { of: "ada" }, filter: { of: "ada" } };
      await write({ ...put, value: { of: "bob" }, ttl: 1 }, { ...put, key: "own", filter: undefined });
      await expect(write({ ...put, key: "new" }, put)).rejects.toMatchObject({ code: "not_found" });
      expect((await keys()).toSorted()).toEqual(["k", "own"]);
      await write(...["k", "own", "none"].map((key) => ({ ...put, key, value: null })));
      expect(await keys()).toEqual(["k"]);
      // One that has expired hides nothing.
      vi.setSystemTime(2 * minute);
      await write(put);
      expect(await fixture.storage.items.get("ada", ["a"], "k", false)).toMatchObject({
        value: { of: "ada" },
        created_at: "1970-01-01T00:02:00.000Z",
      });
    });

    it("are found below a namespace, label by label, last changed first, in pages", async () => {
      for (const [at, namespace] of [["a"], ["a", "b"], ["ab"], ["a", "c"], ["a-b"], ["b"]].entries()) {
        setClock(at);
        await write({ namespace, key: namespace.join("/"), value: {} });
      }
      expect(await keys({ prefix: ["a"] })).toEqual(["a/c", "a/b", "a"]);
      expect(await keys({ prefix: ["a", "b"] })).toEqual(["a/b"]);
      expect(await keys({ prefix: ["a", "b", "c"] })).toEqual([]);
      expect(await keys({ limit: 2, offset: 1 })).toEqual(["a-b", "a/c"]);
      await write({ namespace: ["ab"], key: "ab", value: { changed: true } });
      expect(await keys({ limit: 1 })).toEqual(["b"]);
      vi.setSystemTime(minute);
      await write({ namespace: ["ab"], key: "ab", value: { changed: true } });
      expect(await keys({ limit: 1 })).toEqual(["ab"]);
    });

    it("are found by filters on their values", async () => {
      await write(
        { namespace: ["n"], key: "one", value: { size: 1, kind: "small" } },
        { namespace: ["n"], key: "two", value: { size: 2, kind: "big" } },
        { namespace: ["m"], key: "three", value: { size: 3, kind: "big" } },
      );
      expect((await keys({ filter: { kind: "big" } })).toSorted()).toEqual(["three", "two"]);
      expect(await keys({ prefix: ["n"], filter: { kind: "big", size: { $gte: 1 } } })).toEqual(["two"]);
      expect(await keys({ filter: { size: { $gt: 1 } }, limit: 1, offset: 1 })).toHaveLength(1);
    });

    it("are ranked by the number of query words in the fields that are indexed", async () => {
      await write(
        { namespace: ["n"], key: "both", value: { text: "A green apple" } },
        { namespace: ["n"], key: "none", value: { text: "A stone" } },
        { namespace: ["n"], key: "one", value: { deep: [{ text: "Green" }] } },
        { namespace: ["n"], key: "hidden", value: { text: "green apple" }, index: false },
        { namespace: ["n"], key: "elsewhere", value: { text: "green apple", title: "stone" }, index: ["title"] },
      );
      const found = await fixture.storage.items.search("ada", { ...everything, query: "green apple" });
      expect(found.map(({ key, score }) => [key, score])).toEqual([
        ["both", 1],
        ["one", 0.5],
        ["elsewhere", 0],
        ["none", 0],
        ["hidden", undefined],
      ]);
    });

    it("are searched in small batches when they are many, so that other requests are served meanwhile", async () => {
      const many = Array.from({ length: 1_000 }, (_, size) => ({
        namespace: ["n"],
        key: String(size),
        value: { size },
      }));
      await write(...many);
      let served = 0;
      let isSearching = true;
      const others = (async (): Promise<void> => {
        for (; isSearching; served += 1) await nextTurn();
      })();
      expect((await keys({ filter: { size: { $lt: 3 } } })).toSorted()).toEqual(["0", "1", "2"]);
      expect(await keys({ query: "7", limit: 1, offset: 1 })).toHaveLength(1);
      isSearching = false;
      await others;
      expect(served).toBeGreaterThanOrEqual(8);
    });

    it("are listed by namespace, by prefix and suffix, cut to a depth, sorted", async () => {
      for (const namespace of [["b"], ["a", "x", "end"], ["a", "y", "end"], ["a", "x", "other"], ["a"]]) {
        await write({ namespace, key: "k", value: {} });
      }
      expect(await namespaces()).toEqual([["a"], ["a", "x", "end"], ["a", "x", "other"], ["a", "y", "end"], ["b"]]);
      expect(await namespaces({ prefix: ["a", "x"] })).toEqual([
        ["a", "x", "end"],
        ["a", "x", "other"],
      ]);
      expect(await namespaces({ suffix: ["end"] })).toEqual([
        ["a", "x", "end"],
        ["a", "y", "end"],
      ]);
      expect(await namespaces({ prefix: ["*", "y"], suffix: ["*"] })).toEqual([["a", "y", "end"]]);
      expect(await namespaces({ maxDepth: 2 })).toEqual([["a"], ["a", "x"], ["a", "y"], ["b"]]);
      expect(await namespaces({ maxDepth: 1, limit: 1, offset: 1 })).toEqual([["b"]]);
    });

    it("expire, and reading them restarts their TTL", async () => {
      setClock(0);
      const { items } = fixture.storage;
      const times: string[] = [];
      items.onExpiry((time) => times.push(time));
      await write({ namespace: ["n"], key: "k", value: {}, ttl: 1 }, { namespace: ["n"], key: "stays", value: {} });
      vi.setSystemTime(minute - 1);
      expect(await items.get("ada", ["n"], "k", true)).toBeDefined();
      vi.setSystemTime(2 * minute - 2);
      expect(await keys({ refresh: true })).toHaveLength(2);
      vi.setSystemTime(3 * minute - 3);
      expect(await items.get("ada", ["n"], "k", false)).toBeDefined();
      expect(await items.expire()).toBe(new Date(3 * minute - 2).toISOString());
      vi.setSystemTime(3 * minute - 2);
      expect(await items.get("ada", ["n"], "k", true)).toBeUndefined();
      expect(await keys({ refresh: true })).toEqual(["stays"]);
      expect(times).toEqual([minute, 2 * minute - 1, 3 * minute - 2].map((time) => new Date(time).toISOString()));
      expect(await items.expire()).toBeUndefined();
      expect(await namespaces()).toEqual([["n"]]);
    });

    it("are new when written after the former one has expired", async () => {
      setClock(0);
      await write({ namespace: ["n"], key: "k", value: { old: true }, ttl: 1 });
      vi.setSystemTime(minute);
      expect(await namespaces()).toEqual([]);
      await write({ namespace: ["n"], key: "k", value: { old: false } });
      const item = await fixture.storage.items.get("ada", ["n"], "k", false);
      expect(item).toMatchObject({ value: { old: false }, created_at: "1970-01-01T00:01:00.000Z" });
      expect(await fixture.storage.items.expire()).toBeUndefined();
      expect(await keys()).toEqual(["k"]);
    });

    it("of one owner can be removed all at once", async () => {
      await write({ namespace: ["n"], key: "k", value: {} });
      await fixture.storage.items.change("bob", [{ namespace: ["n"], key: "k", value: {} }]);
      await fixture.storage.items.clear("ada");
      expect(await keys()).toEqual([]);
      expect(await fixture.storage.items.search("bob", everything)).toHaveLength(1);
    });
  });
}
