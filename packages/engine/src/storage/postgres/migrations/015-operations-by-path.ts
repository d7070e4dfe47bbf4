import type { Migration } from "../migrations.ts";

/** Finds what was done to a file without a look at all operations: a move has two paths, all else has one. */
export const operationsByPath: Migration = {
  id: 15,
  oldest: 9,
  sql: `
    CREATE INDEX operations_by_path ON operations ((millrace_json_v1(change) -> 'path'))
      WHERE millrace_json_v1(change) -> 'path' IS NOT NULL;
    CREATE INDEX operations_by_source ON operations ((millrace_json_v1(change) -> 'from'))
      WHERE millrace_json_v1(change) -> 'from' IS NOT NULL;
    CREATE INDEX operations_by_target ON operations ((millrace_json_v1(change) -> 'to'))
      WHERE millrace_json_v1(change) -> 'to' IS NOT NULL;
  `,
};
