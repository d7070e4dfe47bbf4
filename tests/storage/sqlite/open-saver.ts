import { MillraceSaver } from "../../../src/storage/sqlite/checkpoints/checkpointer.ts";
import { openDatabase, type Database } from "../../../src/storage/sqlite/database/database.ts";
import { migrate } from "../../../src/storage/sqlite/migrations.ts";
import { migrations } from "../../../src/storage/sqlite/migrations/index.ts";

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
