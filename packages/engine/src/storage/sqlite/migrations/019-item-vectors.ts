import type { Migration } from "../migrations.ts";

const changes = `
  CREATE TABLE item_vectors (
    item INTEGER NOT NULL,
    place INTEGER NOT NULL,
    made_by TEXT NOT NULL,
    vector BLOB,
    PRIMARY KEY (item, place)
  );
  CREATE TRIGGER item_vectors_of_changed AFTER UPDATE OF value, indexed ON store_items
    BEGIN DELETE FROM item_vectors WHERE item = old.id; END;
  CREATE TRIGGER item_vectors_of_deleted AFTER DELETE ON store_items
    BEGIN DELETE FROM item_vectors WHERE item = old.id; END;
`;

/** What items mean, as vectors; they go with the value of which they were made. An item without texts has one that is empty. */
export const itemVectors: Migration = {
  id: 19,
  name: "item-vectors",
  up(database) {
    database.raw.exec(changes);
  },
};
