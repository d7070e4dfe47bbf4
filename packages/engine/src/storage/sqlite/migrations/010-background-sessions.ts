import type { Migration } from "../migrations.ts";

const changes = `
  CREATE INDEX sessions_of_background ON sessions (
    CASE WHEN json_valid(metadata) THEN metadata ->> '$.background_of' END, created_at
  ) WHERE CASE WHEN json_valid(metadata) THEN metadata ->> '$.background_of' END IS NOT NULL;
`;

/**
 * Finds the sessions of the agents that a session has sent to the background, oldest first, without a look at all
 * others. A damaged row is left out: it must not keep the file from being opened.
 */
export const backgroundSessions: Migration = {
  id: 10,
  name: "background-sessions",
  up(database) {
    database.raw.exec(changes);
  },
};
