import { nearness } from "@millrace/engine/storage/items/item-filter";
import type { IndexedFile, TextIndexStore, TextPiece } from "@millrace/engine/storage/text-index";

/** An index of files in memory. */
export function createMemoryTextIndex(): TextIndexStore {
  const indexes = new Map<string, Map<string, Omit<IndexedFile, "pieces"> & { pieces: readonly TextPiece[] }>>();
  const of = (index: string) => indexes.get(index) ?? new Map<string, never>();
  return {
    files: async (index) => [...of(index).values()].map((file) => ({ ...file, pieces: file.pieces.length })),
    async put(index, files) {
      const known = indexes.get(index) ?? new Map();
      indexes.set(index, known);
      for (const file of files) {
        known.delete(file.path);
        known.set(file.path, structuredClone(file));
      }
    },
    async stamp(index, stamps) {
      for (const { path, stamp } of stamps) Object.assign(of(index).get(path) ?? {}, { stamp });
    },
    async remove(index, paths) {
      for (const path of paths) of(index).delete(path);
    },
    async removeOthers(index) {
      for (const name of indexes.keys()) if (name !== index) indexes.delete(name);
    },
    async search(index, { vector, path, limit }, signal) {
      signal.throwIfAborted();
      return [...of(index).values()]
        .filter((file) => path === null || file.path === path || file.path.startsWith(`${path}/`))
        .flatMap((file) =>
          file.pieces.map(({ vector: own, ...piece }) => ({ ...piece, path: file.path, score: nearness(vector, own) })),
        )
        .toSorted((one, other) => other.score - one.score)
        .slice(0, limit);
    },
  };
}
