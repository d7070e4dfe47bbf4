import type { Migration } from "../migrations.ts";

/**
 * The tables of the checkpointer. Texts that repeat (thread, namespace, run) have a row each and are referred to by
 * integer keys. `checkpoint_items` holds every message and list element once per thread, in rows of up to 64 that are
 * appended as a log; checkpoints, writes and events refer to them by sequence. Names differ from `checkpoints` and
 * `writes`, which belong to the plain SqliteSaver and stay readable.
 */
export const checkpoints: Migration = {
  id: 1,
  name: "checkpoints",
  up(database) {
    database.raw.exec(`
      CREATE TABLE checkpoint_threads (
        key INTEGER PRIMARY KEY,
        thread_id TEXT NOT NULL UNIQUE
      );
      CREATE TABLE checkpoint_namespaces (
        key INTEGER PRIMARY KEY,
        thread INTEGER NOT NULL REFERENCES checkpoint_threads ON DELETE CASCADE,
        ns TEXT NOT NULL,
        UNIQUE (thread, ns)
      );
      CREATE TABLE checkpoint_runs (
        key INTEGER PRIMARY KEY,
        thread INTEGER NOT NULL REFERENCES checkpoint_threads ON DELETE CASCADE,
        run_id TEXT NOT NULL,
        UNIQUE (thread, run_id)
      );
      CREATE TABLE checkpoint_rows (
        key INTEGER PRIMARY KEY,
        namespace INTEGER NOT NULL REFERENCES checkpoint_namespaces ON DELETE CASCADE,
        id BLOB NOT NULL,
        parent BLOB,
        run INTEGER,
        base INTEGER,
        data TEXT,
        crc INTEGER,
        UNIQUE (namespace, id)
      );
      CREATE TABLE checkpoint_writes (
        checkpoint INTEGER NOT NULL REFERENCES checkpoint_rows ON DELETE CASCADE,
        task BLOB NOT NULL,
        part INTEGER NOT NULL,
        path TEXT NOT NULL,
        run INTEGER,
        data BLOB NOT NULL,
        crc INTEGER NOT NULL,
        PRIMARY KEY (checkpoint, task, part)
      ) WITHOUT ROWID;
      CREATE TABLE checkpoint_blobs (
        key INTEGER PRIMARY KEY,
        thread INTEGER NOT NULL REFERENCES checkpoint_threads ON DELETE CASCADE,
        data BLOB NOT NULL,
        crc INTEGER NOT NULL
      );
      CREATE INDEX checkpoint_blobs_by_thread ON checkpoint_blobs (thread);
      CREATE TABLE checkpoint_items (
        key INTEGER PRIMARY KEY,
        thread INTEGER NOT NULL REFERENCES checkpoint_threads ON DELETE CASCADE,
        first INTEGER NOT NULL,
        count INTEGER NOT NULL,
        data BLOB NOT NULL,
        crc INTEGER NOT NULL,
        UNIQUE (thread, first)
      );
    `);
  },
};
