import { z } from "zod";
import { bytesOf } from "../../items/item-rows.ts";
import { parseRow, readRows } from "../../rows.ts";
import {
  FileRow,
  type IndexedFile,
  nearestPieces,
  type PieceRows,
  PieceVectorRow,
  type TextIndexStore,
  type TextPiece,
} from "../../items/text-index.ts";
import type { Database } from "../database/database.ts";
import type { GroupCommit } from "../database/durable.ts";

const IdRow = z.object({ piece: z.number() });
const FoundRow = z.object({
  piece: z.number(),
  path: z.string(),
  first_line: z.number(),
  last_line: z.number(),
  text: z.string(),
});

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
    removeOthers: (index, prefix = "") =>
      commits.transaction(() => {
        const others = "index_name <> @index AND substr(index_name, 1, length(@prefix)) = @prefix";
        database.prepare(`DELETE FROM indexed_files WHERE ${others}`).run({ index, prefix });
      }),
    search: (index, query, signal) => nearestPieces(piecesOf(database, index), query, signal),
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
    add.run(id, first_line, last_line, text, bytesOf(vector));
  }
}

const selectFound = `SELECT piece, path, first_line, last_line, text FROM file_pieces
  JOIN indexed_files ON indexed_files.file = file_pieces.file WHERE piece = ?`;

function piecesOf(database: Database, index: string): PieceRows {
  const each = <Schema extends z.ZodType>(schema: Schema, sql: string, pieces: readonly number[]): z.infer<Schema>[] =>
    database.read(() => {
      const select = database.prepare(sql);
      return pieces.flatMap((piece) => {
        const row = select.get(piece);
        return row === undefined ? [] : [parseRow(schema, "file_pieces", row)];
      });
    });
  return {
    async at(path) {
      const isAt = path === null ? "" : "AND (path = @path OR (path >= @path || '/' AND path < @path || '0'))";
      const sql = `SELECT piece FROM file_pieces JOIN indexed_files ON indexed_files.file = file_pieces.file
        WHERE index_name = @index ${isAt} ORDER BY piece`;
      const parameters = { index, ...(path !== null && { path }) };
      const rows = database.read(() => readRows(IdRow, "file_pieces", database.prepare(sql).all(parameters)));
      return rows.map(({ piece }) => piece);
    },
    vectors: async (pieces) => each(PieceVectorRow, "SELECT piece, vector FROM file_pieces WHERE piece = ?", pieces),
    found: async (pieces) => each(FoundRow, selectFound, pieces),
  };
}
