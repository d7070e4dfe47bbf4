import type { Migration } from "../migrations.ts";

const changes = `
  CREATE TABLE store_items (
    id INTEGER PRIMARY KEY,
    owner TEXT NOT NULL,
    namespace TEXT NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    indexed TEXT NOT NULL,
    ttl REAL,
    expires_at TEXT,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
  );
  CREATE UNIQUE INDEX store_items_by_key ON store_items (owner, namespace, key);
  CREATE INDEX store_items_expiring ON store_items (expires_at) WHERE expires_at IS NOT NULL;
`;

/** What graphs and clients keep beside conversations, by owner. A namespace is its labels, each with a dot behind it. */
export const storeItems: Migration = {
  id: 11,
  name: "store-items",
  up(database) {
    database.raw.exec(changes);
  },
};
