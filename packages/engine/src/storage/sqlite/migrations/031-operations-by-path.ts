import type { Migration } from "../migrations.ts";

/** Finds what was done to a file without a look at all operations: a move has two paths, all else has one. */
export const operationsByPath: Migration = {
  id: 31,
  name: "operations-by-path",
  up(database) {
    const of = (field: string) => `(change ->> '$.${field}') WHERE change ->> '$.${field}' IS NOT NULL`;
    database.raw.exec(`
      CREATE INDEX operations_by_path ON operations ${of("path")};
      CREATE INDEX operations_by_source ON operations ${of("from")};
      CREATE INDEX operations_by_target ON operations ${of("to")};
    `);
  },
};
