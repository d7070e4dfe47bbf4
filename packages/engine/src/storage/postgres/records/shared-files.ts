import { z } from "zod";
import type { SharedFiles } from "../../cluster.ts";
import { json, readRow, readRows } from "../../rows.ts";
import type { PostgresDatabase } from "../database/database.ts";

const VersionRow = z.object({ name: z.string(), version: z.number() });
// As JSON: PostgreSQL takes no NUL in a text.
const FileRow = VersionRow.extend({ text: json(z.string().nullable()) });

/** Files that servers share in PostgreSQL: few, small and seldom changed. */
export function createSharedFiles(database: PostgresDatabase): SharedFiles {
  return {
    async versions() {
      const rows = readRows(VersionRow, "server_files", await database.read("SELECT name, version FROM server_files"));
      return new Map(rows.map(({ name, version }) => [name, version]));
    },

    async get(name) {
      const sql = "SELECT name, version, text FROM server_files WHERE name = $1";
      return readRow(FileRow, "server_files", (await database.read(sql, [name]))[0]);
    },

    async put({ name, text, version }) {
      const values = [name, JSON.stringify(text), version];
      const sql =
        version === 0
          ? "INSERT INTO server_files (name, text, version) VALUES ($1, $2, $3 + 1) ON CONFLICT (name) DO NOTHING"
          : "UPDATE server_files SET text = $2, version = $3 + 1 WHERE name = $1 AND version = $3";
      return (await database.change(sql, values)) > 0;
    },
  };
}
