import { MillraceSaver } from "@millrace/engine/storage/sqlite/checkpoints/checkpointer";
import { openDatabase, type Database } from "@millrace/engine/storage/sqlite/database/database";
import { migrate } from "@millrace/engine/storage/sqlite/migrations";
import { migrations } from "@millrace/engine/storage/sqlite/migrations/index";

export interface OpenSaver {
  database: Database;
  saver: MillraceSaver;
  close(): void;
}

/** A checkpointer on its own database file. */
export function openSaver(path: string): OpenSaver {
  const database = openDatabase(path);
  migrate(database, migrations);
  return { database, saver: new MillraceSaver(database), close: () => database.close() };
}
