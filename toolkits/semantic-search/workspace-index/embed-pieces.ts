import { isAppError } from "@millrace/engine/errors/errors";
import { unitVector } from "@millrace/engine/storage/items/item-filter";
import type { TextPiece } from "@millrace/engine/storage/items/text-index";
import type { Embed } from "@millrace/models/embeddings";
import type { Piece } from "./pieces.ts";

/** Pieces per request, and characters kept of a piece the model refuses. */
const [batchSize, cutLength] = [32, 400];
/** Error codes for a text that the model refuses; other errors are not the text's fault. */
const refusals = ["api_error", "context_overflow", "invalid_parameter", "too_large"];

/**
 * Embeds a file's pieces. A refused batch is split in halves; a refused piece is shortened, then dropped. Throws other
 * errors, and the signal's reason.
 */
export async function embedPieces(
  path: string,
  pieces: readonly Piece[],
  embed: Embed,
  signal: AbortSignal,
): Promise<TextPiece[]> {
  const made: TextPiece[] = [];
  for (let at = 0; at < pieces.length; at += batchSize) {
    made.push(...(await embedSome(path, pieces.slice(at, at + batchSize), embed, signal)));
  }
  return made;
}

async function embedSome(
  path: string,
  pieces: readonly Piece[],
  embed: Embed,
  signal: AbortSignal,
  maxLength = Infinity,
): Promise<TextPiece[]> {
  signal.throwIfAborted();
  try {
    // The path tells the topic of a piece if its text does not.
    const texts = pieces.map(({ text }) => `${path}\n${text.slice(0, maxLength).toWellFormed()}`);
    const vectors = await embed(texts, signal);
    return pieces.map((piece, place) => ({ ...piece, vector: toUnit(vectors[place] ?? []) }));
  } catch (error) {
    signal.throwIfAborted();
    if (!isAppError(error) || !refusals.includes(error.code)) throw error;
    const middle = Math.ceil(pieces.length / 2);
    if (middle < pieces.length) {
      const first = await embedSome(path, pieces.slice(0, middle), embed, signal);
      return [...first, ...(await embedSome(path, pieces.slice(middle), embed, signal))];
    }
    return maxLength === Infinity ? await embedSome(path, pieces, embed, signal, cutLength) : [];
  }
}

/** The vector normalised to length 1. */
export function toUnit(numbers: readonly number[]): Float32Array {
  return unitVector(Float32Array.from(numbers));
}
