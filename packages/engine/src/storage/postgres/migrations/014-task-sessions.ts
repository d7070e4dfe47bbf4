import type { Migration } from "../migrations.ts";

/** In which session a task was made; servers of before leave it empty. */
export const taskSessions: Migration = {
  id: 14,
  oldest: 9,
  sql: "ALTER TABLE tasks ADD COLUMN session_id text",
};
