import type { Migration } from "../migrations.ts";

const changes = `
  ALTER TABLE tasks ADD COLUMN owner TEXT;
  CREATE INDEX tasks_of_owner ON tasks (owner, created_at);
`;

/** Whose task it is. What was made before has no owner. */
export const taskOwners: Migration = {
  id: 15,
  name: "task-owners",
  up(database) {
    database.raw.exec(changes);
  },
};
