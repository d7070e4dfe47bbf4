import type { Migration } from "../migrations.ts";

/** In which session a task was made. What was made before, or by hand, has none. */
export const taskSessions: Migration = {
  id: 30,
  name: "task-sessions",
  up(database) {
    database.raw.exec("ALTER TABLE tasks ADD COLUMN session_id TEXT");
  },
};
