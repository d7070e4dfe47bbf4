import type { Migration } from "../migrations.ts";

/** The servers that work on the database, each with the time until which its lease lasts. A number is never used twice. */
export const servers: Migration = {
  id: 7,
  sql: `
    CREATE TABLE servers (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      host text NOT NULL,
      process int NOT NULL,
      lease_until timestamptz NOT NULL
    ) WITH (fillfactor = 50);
  `,
};
