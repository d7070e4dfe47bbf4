import type { Migration } from "../migrations.ts";

const changes = `
  ALTER TABLE sessions ADD COLUMN owner TEXT;
  CREATE INDEX sessions_of_owner ON sessions (owner, created_at);
`;

/** Whose session it is. What was made before has no owner. */
export const sessionOwners: Migration = {
  id: 6,
  name: "session-owners",
  up(database) {
    database.raw.exec(changes);
  },
};
