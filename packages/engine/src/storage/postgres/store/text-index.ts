import { z } from "zod";
import { bytesOf } from "../../items/item-rows.ts";
import { json, parseRow, readRows } from "../../rows.ts";
import {
  FileRow,
  type IndexedFile,
  nearestPieces,
  type PieceRows,
  PieceVectorRow,
  type TextIndexStore,
  type TextPiece,
} from "../../items/text-index.ts";
import { asyncCommit, type PostgresDatabase, type Statements } from "../database/database.ts";

const IdRow = z.object({ piece: z.number() });
/** The text of a piece is a JSON text: PostgreSQL takes no NUL, which files have. */
const FoundRow = z.object({
  piece: z.number(),
  path: z.string(),
  first_line: z.number(),
  last_line: z.number(),
  text: json(z.string()),
});

const removeSql = `DELETE FROM indexed_files WHERE index_name = $1 AND path = ANY ($2::text[]) RETURNING ${asyncCommit}`;
/** Where another server has put the same file since it was removed, its row is taken. */
const insertSql = `INSERT INTO indexed_files (index_name, path, stamp, hash, bytes, pieces) VALUES ($1, $2, $3, $4, $5, $6)
  ON CONFLICT (index_name, path) DO UPDATE SET stamp = excluded.stamp, hash = excluded.hash, bytes = excluded.bytes,
    pieces = excluded.pieces
  RETURNING file`;
const removePiecesSql = "DELETE FROM file_pieces WHERE file = $1";
const insertPiecesSql = `INSERT INTO file_pieces (file, first_line, last_line, text, vector)
  SELECT $1::bigint, first_line, last_line, text, vector
  FROM unnest($2::int[], $3::int[], $4::text[], $5::bytea[])
    WITH ORDINALITY AS rows (first_line, last_line, text, vector, at) ORDER BY at`;
const KeyRow = z.object({ file: z.number() });

async function insert(
  statements: Statements,
  index: string,
  { pieces, ...file }: Omit<IndexedFile, "pieces"> & { pieces: readonly TextPiece[] },
): Promise<void> {
  const values = [index, file.path, file.stamp, file.hash, file.bytes, pieces.length];
  const [row] = await statements.rows(insertSql, values);
  const { file: key } = parseRow(KeyRow, "indexed_files", row);
  await statements.change(removePiecesSql, [key]);
  await statements.change(insertPiecesSql, [
    key,
    pieces.map(({ first_line }) => first_line),
    pieces.map(({ last_line }) => last_line),
    pieces.map(({ text }) => JSON.stringify(text)),
    pieces.map(({ vector }) => bytesOf(vector)),
  ]);
}

function piecesOf(database: Statements, index: string): PieceRows {
  return {
    async at(path) {
      const sql = `SELECT piece FROM file_pieces JOIN indexed_files USING (file) WHERE index_name = $1
        AND ($2::text IS NULL OR path = $2 OR (path >= $2 || '/' AND path < $2 || '0')) ORDER BY piece`;
      const rows = readRows(IdRow, "file_pieces", await database.read(sql, [index, path]));
      return rows.map(({ piece }) => piece);
    },
    async vectors(pieces) {
      const sql = "SELECT piece, vector FROM file_pieces WHERE piece = ANY ($1::bigint[])";
      return readRows(PieceVectorRow, "file_pieces", await database.read(sql, [pieces]));
    },
    async found(pieces) {
      const sql = `SELECT piece, path, first_line, last_line, text
        FROM unnest($1::bigint[]) WITH ORDINALITY AS wanted (piece, at)
        JOIN file_pieces USING (piece) JOIN indexed_files USING (file) ORDER BY at`;
      return readRows(FoundRow, "file_pieces", await database.read(sql, [pieces]));
    },
  };
}

/** The index of files in PostgreSQL. Nothing of it waits for the disk: what a crash takes is embedded again. */
export function createTextIndex(database: PostgresDatabase): TextIndexStore {
  return {
    files: async (index) =>
      readRows(
        FileRow,
        "indexed_files",
        await database.read(
          "SELECT path, stamp, hash, bytes, pieces FROM indexed_files WHERE index_name = $1 ORDER BY file",
          [index],
        ),
      ),
    put: (index, files) =>
      database.transaction(async (statements) => {
        for (const file of files) {
          // Of several with one path the last one stays.
          await statements.rows(removeSql, [index, [file.path]]);
          await insert(statements, index, file);
        }
      }, false),
    async stamp(index, stamps) {
      await database.rows(
        `UPDATE indexed_files SET stamp = given.stamp FROM unnest($2::text[], $3::text[]) AS given (path, stamp)
         WHERE index_name = $1 AND indexed_files.path = given.path RETURNING ${asyncCommit}`,
        [index, stamps.map(({ path }) => path), stamps.map(({ stamp }) => stamp)],
      );
    },
    remove: async (index, paths) => void (await database.rows(removeSql, [index, paths])),
    async removeOthers(index, prefix = "") {
      const sql = `DELETE FROM indexed_files WHERE index_name <> $1 AND starts_with(index_name, $2) RETURNING ${asyncCommit}`;
      await database.rows(sql, [index, prefix]);
    },
    search: (index, query, signal) => nearestPieces(piecesOf(database, index), query, signal),
  };
}
