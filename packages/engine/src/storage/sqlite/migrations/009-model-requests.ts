import type { Migration } from "../migrations.ts";

const changes = `
  CREATE TABLE model_texts (
    id INTEGER PRIMARY KEY,
    hash TEXT NOT NULL UNIQUE,
    text TEXT NOT NULL
  );
  CREATE TABLE model_requests (
    id INTEGER PRIMARY KEY,
    session INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    node TEXT NOT NULL,
    is_silent INTEGER NOT NULL,
    asked_at TEXT NOT NULL,
    head TEXT NOT NULL,
    tools TEXT NOT NULL,
    data BLOB NOT NULL,
    UNIQUE (session, node)
  );
  CREATE INDEX model_requests_by_head ON model_requests (head);
  CREATE TRIGGER model_head_replaced AFTER UPDATE OF head ON model_requests WHEN old.head <> new.head BEGIN
    DELETE FROM model_texts WHERE hash = old.head AND NOT EXISTS (SELECT 1 FROM model_requests WHERE head = old.head);
  END;
  CREATE TRIGGER model_head_removed AFTER DELETE ON model_requests BEGIN
    DELETE FROM model_texts WHERE hash = old.head AND NOT EXISTS (SELECT 1 FROM model_requests WHERE head = old.head);
  END;
`;

/**
 * What the model was last sent, for each node of a session. Texts that many requests share (system texts, tool
 * definitions, lists of those) are kept once, by their hash; a system text goes with the last request that holds it.
 */
export const modelRequests: Migration = {
  id: 9,
  name: "model-requests",
  up(database) {
    database.raw.exec(changes);
  },
};
