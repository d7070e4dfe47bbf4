import type { Migration } from "../migrations.ts";

/** Finds an owner's items in the order they are listed in, last changed first. */
export const itemsByChange: Migration = {
  id: 17,
  name: "items-by-change",
  up(database) {
    database.raw.exec("CREATE INDEX store_items_by_change ON store_items (owner, updated_at, id)");
  },
};
