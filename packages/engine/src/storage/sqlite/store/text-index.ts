import { setImmediate as nextTurn } from "node:timers/promises";
import { z } from "zod";
import { nearness } from "../../items/item-filter.ts";
import type { FoundPiece, IndexedFile, PieceQuery, TextIndexStore, TextPiece } from "../../text-index.ts";
import type { Database } from "../database/database.ts";
import type { GroupCommit } from "../database/durable.ts";
import { parseRow, readRows } from "../../rows.ts";

/** Pieces that are compared at a time: a few milliseconds. */
const comparedAtOnce = 250;

const FileRow = z.object({
  path: z.string(),
  stamp: z.string(),
  hash: z.string(),
  bytes: z.number(),
  pieces: z.number(),
});
const IdRow = z.object({ piece: z.number() });
const VectorRow = z.object({ piece: z.number(), vector: z.instanceof(Uint8Array) });
const FoundRow = z.object({ path: z.string(), first_line: z.number(), last_line: z.number(), text: z.string() });

/** The index of files in SQLite. Nothing of it waits for the disk: what a crash takes is embedded again. */
export function createTextIndex(database: Database, commits: GroupCommit): TextIndexStore {
  const removeFile = "DELETE FROM indexed_files WHERE index_name = @index AND path = @path";
  return {
    files: async (index) =>
      database.read(() =>
        readRows(
          FileRow,
          "indexed_files",
          database
            .prepare(
              "SELECT path, stamp, hash, bytes, pieces FROM indexed_files WHERE index_name = ? ORDER BY indexed_files.file",
            )
            .all(index),
        ),
      ),
    put: (index, files) =>
      commits.transaction(() => {
        for (const file of files) {
          database.prepare(removeFile).run({ index, path: file.path });
          insert(database, index, file);
        }
      }),
    stamp: (index, stamps) =>
      commits.transaction(() => {
        const update = "UPDATE indexed_files SET stamp = @stamp WHERE index_name = @index AND path = @path";
        for (const { path, stamp } of stamps) database.prepare(update).run({ index, path, stamp });
      }),
    remove: (index, paths) =>
      commits.transaction(() => {
        for (const path of paths) database.prepare(removeFile).run({ index, path });
      }),
    removeOthers: (index) =>
      commits.transaction(() => void database.prepare("DELETE FROM indexed_files WHERE index_name <> ?").run(index)),
    search: (index, query, signal) => nearest(database, index, query, signal),
  };
}

function insert(
  database: Database,
  index: string,
  { pieces, ...file }: Omit<IndexedFile, "pieces"> & { pieces: readonly TextPiece[] },
): void {
  const row = { ...file, index, pieces: pieces.length };
  const { lastInsertRowid: id } = database
    .prepare(
      `INSERT INTO indexed_files (index_name, path, stamp, hash, bytes, pieces)
       VALUES (@index, @path, @stamp, @hash, @bytes, @pieces)`,
    )
    .run(row);
  const add = database.prepare(
    "INSERT INTO file_pieces (file, first_line, last_line, text, vector) VALUES (?, ?, ?, ?, ?)",
  );
  for (const { first_line, last_line, text, vector } of pieces) {
    add.run(id, first_line, last_line, text, Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength));
  }
}

async function nearest(
  database: Database,
  index: string,
  { vector, path, limit }: PieceQuery,
  signal: AbortSignal,
): Promise<FoundPiece[]> {
  const ids = piecesAt(database, index, path);
  const select = database.prepare("SELECT piece, vector FROM file_pieces WHERE piece = ?");
  let best: { piece: number; score: number }[] = [];
  for (let at = 0; at < ids.length; at += comparedAtOnce) {
    if (at > 0) await nextTurn();
    signal.throwIfAborted();
    const scored = database.read(() =>
      ids.slice(at, at + comparedAtOnce).flatMap(({ piece }) => {
        const row = select.get(piece);
        if (row === undefined) return [];
        return [{ piece, score: nearness(vector, floatsOf(parseRow(VectorRow, "file_pieces", row).vector)) }];
      }),
    );
    best = [...best, ...scored].toSorted((one, other) => other.score - one.score).slice(0, limit);
  }
  const found = database.prepare(
    `SELECT path, first_line, last_line, text FROM file_pieces
     JOIN indexed_files ON indexed_files.file = file_pieces.file WHERE piece = ?`,
  );
  return database.read(() =>
    best.flatMap(({ piece, score }) => {
      const row = found.get(piece);
      return row === undefined ? [] : [{ ...parseRow(FoundRow, "file_pieces", row), score }];
    }),
  );
}

/** The pieces of the file at `path`, or of those below it. */
function piecesAt(database: Database, index: string, path: string | null): z.infer<typeof IdRow>[] {
  const isAt = path === null ? "" : "AND (path = @path OR (path >= @path || '/' AND path < @path || '0'))";
  const sql = `SELECT piece FROM file_pieces JOIN indexed_files ON indexed_files.file = file_pieces.file
    WHERE index_name = @index ${isAt} ORDER BY piece`;
  const parameters = { index, ...(path !== null && { path }) };
  return database.read(() => readRows(IdRow, "file_pieces", database.prepare(sql).all(parameters)));
}

/** A copy, since the bytes of a row need not begin where numbers may. */
function floatsOf(bytes: Uint8Array): Float32Array {
  return new Float32Array(new Uint8Array(bytes).buffer);
}
