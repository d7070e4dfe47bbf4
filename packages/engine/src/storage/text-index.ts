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
  /** Removes every index but this one. */
  removeOthers(index: string): Promise<void>;
  /** The nearest pieces, the nearest first. Others are served while it compares. */
  search(index: string, query: PieceQuery, signal: AbortSignal): Promise<FoundPiece[]>;
}
