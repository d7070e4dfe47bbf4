import type { Migration } from "../migrations.ts";

/** What the servers share of their data folders: settings and prompts that were changed at one of them. */
export const sharedFiles: Migration = {
  id: 16,
  oldest: 9,
  sql: `
    CREATE TABLE server_files (name text COLLATE "C" PRIMARY KEY, text text NOT NULL, version bigint NOT NULL);
  `,
};
