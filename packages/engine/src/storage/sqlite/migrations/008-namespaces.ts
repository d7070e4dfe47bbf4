import type { Migration } from "../migrations.ts";

const changes = `
  CREATE TABLE namespaces (
    owner TEXT NOT NULL,
    namespace TEXT NOT NULL,
    session INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    updated_at TEXT NOT NULL,
    PRIMARY KEY (owner, namespace)
  ) WITHOUT ROWID;
  CREATE INDEX namespaces_of_session ON namespaces (session);
`;

/** The current session of each namespace, by owner; an empty name means no owner. */
export const namespaces: Migration = {
  id: 8,
  name: "namespaces",
  up(database) {
    database.raw.exec(changes);
  },
};
