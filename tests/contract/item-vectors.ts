import { beforeEach, describe, expect, it, vi } from "vitest";
import { AppError } from "@millrace/engine/errors/errors";
import { GraphStore } from "@millrace/engine/storage/items/store-items";
import type { StorageFixture } from "./records.ts";

/** Vectors for the semantic search of items. */
export function describeItemVectors(fixture: StorageFixture): void {
  describe("the vectors of items", () => {
    /** The items that need a vector, by their text. */
    let waiting: Map<string, () => void>;
    let held: Set<string>;
    let failures: unknown[];
    let asked: string[][];

    beforeEach(() => {
      waiting = new Map();
      held = new Set();
      failures = [];
      asked = [];
      fixture.storage.items.useIndex({
        madeBy: "test",
        fields: ["text"],
        async embed(texts) {
          asked.push([...texts]);
          for (const text of texts) {
            if (held.has(text)) await new Promise<void>((resolve) => waiting.set(text, resolve));
          }
          return texts.map((text) => Float32Array.of(text.includes("sea") ? 1 : 0, text.includes("cat") ? 1 : 0));
        },
        onFailure: (error) => void failures.push(error),
      });
    });

    const put = (key: string, text: string, owner = "ada"): Promise<void> =>
      fixture.storage.items.change(owner, [{ namespace: ["n"], key, value: { text } }]);
    const find = async (query: string, owner = "ada"): Promise<[string, number | undefined][]> => {
      const found = await fixture.storage.items.search(owner, { prefix: [], query, limit: 10, offset: 0 });
      return found.map(({ key, score }) => [key, score]);
    };

    it("belong to the value they were computed from, also where that was overwritten meanwhile", async () => {
      held.add("sea");
      const first = put("k", "sea");
      await expect.poll(() => waiting.size).toBe(1);
      await put("k", "cat");
      held.clear();
      waiting.get("sea")?.();
      await first;
      expect(await find("cat")).toEqual([["k", 1]]);
      expect(await find("sea")).toEqual([["k", 0]]);
      expect(failures).toEqual([]);
    });

    it("belong to one owner, and are deleted with their items", async () => {
      await put("mine", "sea");
      await put("theirs", "sea", "eve");
      expect(await find("sea")).toEqual([["mine", 1]]);
      await fixture.storage.items.change("ada", [{ namespace: ["n"], key: "mine", value: null }]);
      await fixture.storage.items.clear("eve");
      expect([await find("sea"), await find("sea", "eve")]).toEqual([[], []]);
    });

    it("are computed for many items in few requests, and only once", async () => {
      const changes = Array.from({ length: 45 }, (_, at) => ({
        namespace: ["n"],
        key: `${at}`,
        value: { text: `cat ${at}` },
      }));
      await fixture.storage.items.change("ada", changes);
      expect(asked.map(({ length }) => length)).toEqual([20, 20, 5]);
      await find("sea");
      expect(asked.map(({ length }) => length)).toEqual([20, 20, 5, 1]);
    });

    it("are computed before a query within a time limit, and the rest before the next query", async () => {
      vi.useFakeTimers({ toFake: ["performance"] });
      try {
        let isDown = true;
        let seconds = 10;
        fixture.storage.items.useIndex({
          madeBy: "slow",
          fields: ["text"],
          async embed(texts) {
            asked.push([...texts]);
            if (texts[0] !== "sea" && isDown) throw new AppError("network", "No answer.");
            if (texts[0] !== "sea") vi.advanceTimersByTime(seconds * 1000);
            return texts.map(() => Float32Array.of(1, 0));
          },
          onFailure: (error) => void failures.push(error),
        });
        for (let at = 0; at < 70; at += 1) await put(`${at}`, "cat");
        isDown = false;
        asked = [];
        await find("sea");
        // The third request would begin after 15 s.
        expect(asked.map(({ length }) => length)).toEqual([1, 20, 20]);
        seconds = 1;
        await find("sea");
        expect(asked.slice(3).map(({ length }) => length)).toEqual([1, 20, 10]);
      } finally {
        vi.useRealTimers();
      }
    });

    it("also rank the results of graphs' searches", async () => {
      const store = new GraphStore(fixture.storage.items, () => Promise.resolve("ada"));
      await store.put(["n"], "a", { text: "the cat" });
      await store.put(["n"], "b", { text: "the sea" });
      await store.put(["n"], "c", { text: "the sea" }, false);
      const found = await store.search(["n"], { query: "seaside" });
      expect(found.map(({ key, score }) => [key, score])).toEqual([
        ["b", 1],
        ["a", 0],
        ["c", undefined],
      ]);
    });
  });
}
