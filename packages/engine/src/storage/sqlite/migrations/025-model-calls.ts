import type { Migration } from "../migrations.ts";

const changes = `
  CREATE TABLE model_calls (
    id INTEGER PRIMARY KEY,
    session INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    run_id TEXT NOT NULL,
    number INTEGER NOT NULL,
    node TEXT NOT NULL,
    is_silent INTEGER NOT NULL,
    asked_at TEXT NOT NULL,
    head TEXT NOT NULL,
    tools TEXT NOT NULL,
    data BLOB NOT NULL
  );
  INSERT INTO model_calls (id, session, run_id, number, node, is_silent, asked_at, head, tools, data)
    SELECT id, session, '', 0, node, is_silent, asked_at, head, tools, data FROM model_requests ORDER BY id;
  DROP TRIGGER model_head_replaced;
  DROP TRIGGER model_head_removed;
  DROP TABLE model_requests;
  ALTER TABLE model_calls RENAME TO model_requests;
  CREATE INDEX model_requests_by_head ON model_requests (head);
  CREATE INDEX model_requests_of_run ON model_requests (session, run_id, number);
  CREATE INDEX model_requests_of_node ON model_requests (session, node, id);
  CREATE TRIGGER model_head_removed AFTER DELETE ON model_requests BEGIN
    DELETE FROM model_texts WHERE hash = old.head AND NOT EXISTS (SELECT 1 FROM model_requests WHERE head = old.head);
  END;
`;

/** The requests of a run are kept one by one, not the last one of each node alone. Those of before have no run. */
export const modelCalls: Migration = {
  id: 25,
  name: "model-calls",
  up(database) {
    database.raw.exec(changes);
  },
};
