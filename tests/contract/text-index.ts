import { describe, expect, it } from "vitest";
import type { TextPiece } from "@millrace/engine/storage/items/text-index";
import type { StorageFixture } from "./records.ts";

const piece = (first_line: number, ...numbers: number[]): TextPiece => ({
  first_line,
  last_line: first_line + 1,
  text: `text of ${first_line}`,
  vector: Float32Array.from(numbers),
});
const file = (path: string, ...pieces: TextPiece[]) => ({ path, stamp: "s1", hash: `h-${path}`, bytes: 7, pieces });
const east = Float32Array.of(1, 0);

/** The index of file contents for semantic search (CTX-13). */
export function describeTextIndex(fixture: StorageFixture): void {
  describe("the index of files", () => {
    const found = async (index: string, path: string | null = null, limit = 10): Promise<string[]> => {
      const hits = await fixture.storage.textIndex.search(
        index,
        { vector: east, path, limit },
        new AbortController().signal,
      );
      return hits.map((hit) => `${hit.path}:${hit.first_line}`);
    };

    it("finds the nearest chunks first, everywhere or at a path, also after a restart", async () => {
      const { textIndex } = fixture.storage;
      await textIndex.put("one", [
        file("src/a.ts", piece(1, 0, 1), piece(3, 1, 0)),
        file("src.ts", piece(1, 0.8, 0.6)),
        file("src/deep/b.ts", piece(1, 0.6, 0.8)),
      ]);
      await textIndex.put("two", [file("other.ts", piece(1, 1, 0))]);
      expect(await found("one")).toEqual(["src/a.ts:3", "src.ts:1", "src/deep/b.ts:1", "src/a.ts:1"]);
      expect(await found("one", null, 2)).toEqual(["src/a.ts:3", "src.ts:1"]);
      expect(await found("one", "src")).toEqual(["src/a.ts:3", "src/deep/b.ts:1", "src/a.ts:1"]);
      expect(await found("one", "src/deep/b.ts")).toEqual(["src/deep/b.ts:1"]);
      const [first] = await (
        await fixture.reopen()
      ).textIndex.search("one", { vector: east, path: null, limit: 1 }, new AbortController().signal);
      expect(first).toEqual({ path: "src/a.ts", first_line: 3, last_line: 4, text: "text of 3", score: 1 });
    });

    it("replaces a file's chunks, and removes files and other indexes with their chunks", async () => {
      const { textIndex } = fixture.storage;
      await textIndex.put("one", [file("a", piece(1, 1, 0), piece(3, 1, 0)), file("b", piece(1, 0, 1))]);
      await textIndex.put("one", [file("a", piece(9, 0.6, 0.8))]);
      await textIndex.stamp("one", [{ path: "b", stamp: "s2" }]);
      expect(await found("one")).toEqual(["a:9", "b:1"]);
      expect(await textIndex.files("one")).toEqual([
        { path: "b", stamp: "s2", hash: "h-b", bytes: 7, pieces: 1 },
        { path: "a", stamp: "s1", hash: "h-a", bytes: 7, pieces: 1 },
      ]);
      await textIndex.remove("one", ["b", "unknown"]);
      expect(await found("one")).toEqual(["a:9"]);
      await textIndex.put("two", [file("c", piece(1, 1, 0))]);
      await textIndex.removeOthers("two", "on.");
      expect(await found("one")).toEqual(["a:9"]);
      await textIndex.removeOthers("two", "on");
      expect(await found("one")).toEqual([]);
      await textIndex.put("one", [file("a", piece(9, 0.6, 0.8))]);
      await textIndex.removeOthers("two");
      expect([await found("one"), await found("two"), await textIndex.files("one")]).toEqual([[], ["c:1"], []]);
    });

    it("stops when the signal aborts", async () => {
      await fixture.storage.textIndex.put("one", [file("a", piece(1, 1, 0))]);
      const search = fixture.storage.textIndex.search(
        "one",
        { vector: east, path: null, limit: 1 },
        AbortSignal.abort(new Error("stopped")),
      );
      await expect(search).rejects.toThrow("stopped");
    });
  });
}
