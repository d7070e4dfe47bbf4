import type { Migration } from "../migrations.ts";

const tables = `
  CREATE TABLE indexed_files (
    file INTEGER PRIMARY KEY AUTOINCREMENT,
    index_name TEXT NOT NULL,
    path TEXT NOT NULL,
    stamp TEXT NOT NULL,
    hash TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    pieces INTEGER NOT NULL,
    UNIQUE (index_name, path)
  );
  CREATE TABLE file_pieces (
    piece INTEGER PRIMARY KEY,
    file INTEGER NOT NULL REFERENCES indexed_files (file) ON DELETE CASCADE,
    first_line INTEGER NOT NULL,
    last_line INTEGER NOT NULL,
    text TEXT NOT NULL,
    vector BLOB NOT NULL
  );
  CREATE INDEX pieces_of_file ON file_pieces (file);
`;

/** What the files of a workspace mean, piece by piece. */
export const textIndex: Migration = {
  id: 24,
  name: "text-index",
  up(database) {
    database.raw.exec(tables);
  },
};
