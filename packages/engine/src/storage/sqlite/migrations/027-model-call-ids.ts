import type { Migration } from "../migrations.ts";

/** Which model call a request belongs to. Those of before do not know it. */
export const modelCallIds: Migration = {
  id: 27,
  name: "model-call-ids",
  up(database) {
    database.raw.exec("ALTER TABLE model_requests ADD COLUMN model_call_id TEXT");
  },
};
