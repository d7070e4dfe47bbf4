import type { Migration } from "../migrations.ts";

/** Which threads were written while the machine's clock was set back: in those, ids of states are not in their order. */
export const clockWentBack: Migration = {
  id: 22,
  name: "clock-went-back",
  up(database) {
    database.raw.exec("ALTER TABLE checkpoint_threads ADD COLUMN clock_went_back INTEGER NOT NULL DEFAULT 0");
  },
};
