import type { IndexLimits } from "@millrace/engine/config/tool-settings";
import { type AppError, isAppError } from "@millrace/engine/errors/errors";
import type { IndexedFile, TextIndexStore } from "@millrace/engine/storage/items/text-index";
import type { Embed } from "@millrace/models/embeddings";
import type { Place } from "../../../src/tools/workspace/workspace-path.ts";
import { embedPieces } from "./embed-pieces.ts";
import { type Piece, piecesOf } from "./pieces.ts";
import { filesAt, type ReadContext, readText } from "./text-files.ts";

/** The result of an index update. */
export interface IndexUpdate {
  /** Files embedded, and files removed because they no longer exist. */
  embedded: number;
  removed: number;
  /** Files not embedded yet: out of time, or the model failed. */
  pending: number;
  /** Files excluded by the limits. */
  left_out: number;
  /** Why embedding failed. */
  problem?: AppError;
}

/** Dependencies of an update. */
export interface UpdateParts {
  store: TextIndexStore;
  index: string;
  embed: Embed;
  limits: IndexLimits;
  /** When to start no further file, by the clock of `performance`. */
  until: number;
}

interface ReadFile extends Omit<IndexedFile, "pieces"> {
  pieces: readonly Piece[];
}

/**
 * Updates the index for the files at a path; embeds only changed ones. Each is stored at once, so a stop loses at most
 * one. Throws the signal's reason.
 */
export async function updateIndex(parts: UpdateParts, context: ReadContext, start: Place): Promise<IndexUpdate> {
  const { store, index } = parts;
  const known = new Map((await store.files(index)).map((file) => [file.path, file]));
  const room = new Room(parts, known, start);
  const update: IndexUpdate = { embedded: 0, removed: 0, pending: 0, left_out: 0 };
  const stamps: { path: string; stamp: string }[] = [];
  const seen = new Set<string>();
  for await (const place of filesAt(context, start)) {
    const before = known.get(place.path);
    if (before === undefined && !room.hasFile()) {
      update.left_out += 1;
      continue;
    }
    const read = await readText(context, place, before?.stamp);
    if (read === null) continue;
    seen.add(place.path);
    if (read.isKnown) continue;
    if (read.hash === before?.hash) {
      if (read.stamp !== "") stamps.push({ path: place.path, stamp: read.stamp });
      continue;
    }
    const { stamp, hash, bytes, text } = read;
    await putFile(parts, { update, room }, { path: place.path, stamp, hash, bytes, pieces: piecesOf(text) }, context);
  }
  const gone = [...known.keys()].filter((path) => isAt(path, start) && !seen.has(path));
  if (gone.length > 0) await store.remove(index, gone);
  if (stamps.length > 0) await store.stamp(index, stamps);
  return { ...update, removed: gone.length };
}

/** Embeds a file if room and time allow; a changed file that is not embedded leaves the index. */
async function putFile(
  { store, index, embed, until }: UpdateParts,
  { update, room }: { update: IndexUpdate; room: Room },
  file: ReadFile,
  { signal }: ReadContext,
): Promise<void> {
  if (room.leave(file.path)) await store.remove(index, [file.path]);
  if (update.problem !== undefined || performance.now() >= until) {
    update.pending += 1;
    return;
  }
  if (!(await room.makeFor(file))) {
    update.left_out += 1;
    return;
  }
  try {
    const pieces = await embedPieces(file.path, file.pieces, embed, signal);
    await store.put(index, [{ ...file, pieces }]);
    room.take(file.path, { bytes: file.bytes, pieces: pieces.length });
    update.embedded += 1;
  } catch (error) {
    signal.throwIfAborted();
    if (!isAppError(error)) throw error;
    update.problem = error;
    update.pending += 1;
  }
}

/** Whether a path is at or below a place. */
function isAt(path: string, start: Place): boolean {
  return start.path === "." || path === start.path || path.startsWith(`${start.path}/`);
}

type Size = Pick<IndexedFile, "bytes" | "pieces">;

/** Remaining room in the index. Files outside the path are evicted, oldest first. */
class Room {
  readonly #parts: UpdateParts;
  readonly #held: Map<string, Size>;
  readonly #others: string[];
  #bytes = 0;
  #pieces = 0;

  constructor(parts: UpdateParts, known: ReadonlyMap<string, IndexedFile>, start: Place) {
    this.#parts = parts;
    this.#held = new Map();
    for (const [path, size] of known) this.take(path, size);
    this.#others = [...known.keys()].filter((path) => !isAt(path, start));
  }

  /** Whether another file fits. */
  hasFile(): boolean {
    return this.#held.size < this.#parts.limits.files || this.#others.length > 0;
  }

  take(path: string, { bytes, pieces }: Size): void {
    this.#held.set(path, { bytes, pieces });
    this.#bytes += bytes;
    this.#pieces += pieces;
  }

  /** False for a file that does not fit. */
  leave(path: string): boolean {
    const { bytes = 0, pieces = 0 } = this.#held.get(path) ?? {};
    this.#bytes -= bytes;
    this.#pieces -= pieces;
    return this.#held.delete(path);
  }

  /** Makes room for a file; false if impossible. */
  async makeFor({ bytes, pieces }: ReadFile): Promise<boolean> {
    const { limits, store, index } = this.#parts;
    if (bytes > limits.bytes || pieces.length > limits.pieces) return false;
    const fits = (): boolean =>
      this.#held.size < limits.files &&
      this.#bytes + bytes <= limits.bytes &&
      this.#pieces + pieces.length <= limits.pieces;
    const removed: string[] = [];
    while (!fits()) {
      const path = this.#others.shift();
      if (path === undefined) break;
      this.leave(path);
      removed.push(path);
    }
    if (removed.length > 0) await store.remove(index, removed);
    return fits();
  }
}
