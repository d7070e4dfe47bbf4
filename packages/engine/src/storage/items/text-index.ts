import { setImmediate as nextTurn } from "node:timers/promises";
import { z } from "zod";
import { cosineSimilarity } from "./item-filter.ts";
import { floatsOf } from "./item-rows.ts";

/** A piece of a file: its lines, counted from 1, and what it means as a vector of the length 1. */
export interface TextPiece {
  first_line: number;
  last_line: number;
  text: string;
  vector: Float32Array;
}

/** A file of the index. */
export interface IndexedFile {
  path: string;
  /** What tells that the file cannot have changed, without reading it. Empty: it has to be read. */
  stamp: string;
  /** SHA-256 of the content that was embedded. */
  hash: string;
  bytes: number;
  /** How many pieces it has. */
  pieces: number;
}

/** A piece that was found; `score` is the cosine to what was looked for. */
export interface FoundPiece extends Omit<TextPiece, "vector"> {
  path: string;
  score: number;
}

/** What is looked for: at `path`, or below it; `null`: everywhere. */
export interface PieceQuery {
  vector: Float32Array;
  path: string | null;
  limit: number;
}

/**
 * What files mean, piece by piece. An index has a name, which says whose files they are and what made the vectors: where
 * either is another, it is another index.
 */
export interface TextIndexStore {
  /** The files of an index, first those that were put first. */
  files(index: string): Promise<IndexedFile[]>;
  /** Puts files, each in the place of what it was before. */
  put(index: string, files: readonly (Omit<IndexedFile, "pieces"> & { pieces: readonly TextPiece[] })[]): Promise<void>;
  /** Notes that the content of a file is what was embedded. */
  stamp(index: string, stamps: readonly { path: string; stamp: string }[]): Promise<void>;
  remove(index: string, paths: readonly string[]): Promise<void>;
  /** Removes every index but this one; with a prefix, only those whose name begins with it. */
  removeOthers(index: string, prefix?: string): Promise<void>;
  /** The nearest pieces, the nearest first. Others are served while it compares. */
  search(index: string, query: PieceQuery, signal: AbortSignal): Promise<FoundPiece[]>;
}

/** A row of `indexed_files`. */
export const FileRow = z.object({
  path: z.string(),
  stamp: z.string(),
  hash: z.string(),
  bytes: z.number(),
  pieces: z.number(),
});

/** The key of a row of `file_pieces`, with its vector. */
export const PieceVectorRow = z.object({ piece: z.number(), vector: z.instanceof(Uint8Array) });

/** What a database gives of the pieces that are compared; rows that are gone meanwhile are left out. */
export interface PieceRows {
  /** The keys of the pieces of the file at `path`, or of those below it, in their order. */
  at(path: string | null): Promise<number[]>;
  /** In any order. */
  vectors(pieces: readonly number[]): Promise<z.infer<typeof PieceVectorRow>[]>;
  /** In the order of the keys. */
  found(pieces: readonly number[]): Promise<(Omit<FoundPiece, "score"> & { piece: number })[]>;
}

/** Pieces compared before other work may run: a few milliseconds. */
const comparedPerBatch = 250;

/** The pieces whose vectors are nearest to that of the query, the nearest first. */
export async function nearestPieces(
  rows: PieceRows,
  { vector, path, limit }: PieceQuery,
  signal: AbortSignal,
): Promise<FoundPiece[]> {
  const pieces = await rows.at(path);
  let best: { piece: number; score: number }[] = [];
  for (let at = 0; at < pieces.length; at += comparedPerBatch) {
    if (at > 0) await nextTurn();
    signal.throwIfAborted();
    const batch = pieces.slice(at, at + comparedPerBatch);
    const scores = new Map(
      (await rows.vectors(batch)).map((row) => [row.piece, cosineSimilarity(vector, floatsOf(row.vector))]),
    );
    const scored = batch.flatMap((piece) => {
      const score = scores.get(piece);
      return score === undefined ? [] : [{ piece, score }];
    });
    best = [...best, ...scored].toSorted((one, other) => other.score - one.score).slice(0, limit);
  }
  const scores = new Map(best.map(({ piece, score }) => [piece, score]));
  const found = await rows.found(best.map(({ piece }) => piece));
  return found.map(({ piece, ...row }) => ({ ...row, score: scores.get(piece) ?? 0 }));
}
