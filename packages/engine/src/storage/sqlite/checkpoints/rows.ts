import type {
  CheckpointQuery,
  CheckpointRow,
  CheckpointRows,
  StoredData,
  ItemRow,
  ThreadKey,
  ListedCheckpoint,
  NewCheckpoint,
  WriteRow,
} from "../../checkpoints/rows.ts";
import { packId, unpackId } from "../../rows.ts";
import { maxItemsPerRow } from "../../checkpoints/items.ts";
import type { Database } from "../database/database.ts";

interface Key {
  key: number;
}

interface StoredCheckpoint {
  id: string | Buffer;
  parent: string | Buffer | null;
  base: number | null;
  data: string;
  crc: number;
  run_id: string | null;
}

/** Of a thread in which ids are not in the order of its states. */
const writtenBefore = `checkpoint_rows.key < (SELECT other.key FROM checkpoint_rows AS other
  WHERE other.namespace = checkpoint_rows.namespace AND other.id = ?)`;

/** The rows of the checkpointer in SQLite. */
export class SqliteCheckpointRows implements CheckpointRows {
  /** A look costs microseconds, and sees what commands beside the server have written. */
  readonly isOnlyWriter = false;
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  read<Result>(work: () => Result): Result {
    return this.#database.read(work);
  }

  onRollback(undo: () => void): void {
    this.#database.onRollback(undo);
  }

  findThread(threadId: string) {
    return this.#database
      .prepare<{ key: number; clock_went_back: number }>(
        "SELECT key, clock_went_back FROM checkpoint_threads WHERE thread_id = ?",
      )
      .get(threadId);
  }

  insertThread(threadId: string): number {
    return this.#insert("INSERT INTO checkpoint_threads (thread_id) VALUES (?)", threadId);
  }

  markClockSetBack(thread: number): void {
    this.#database.prepare("UPDATE checkpoint_threads SET clock_went_back = 1 WHERE key = ?").run(thread);
  }

  deleteThread(threadId: string): void {
    this.#database.prepare("DELETE FROM checkpoint_threads WHERE thread_id = ?").run(threadId);
  }

  findNamespace(thread: number, name: string) {
    const sql = "SELECT key FROM checkpoint_namespaces WHERE thread = ? AND ns = ?";
    return this.#database.prepare<Key>(sql).get(thread, name);
  }

  insertNamespace(thread: number, name: string): number {
    return this.#insert("INSERT INTO checkpoint_namespaces (thread, ns) VALUES (?, ?)", thread, name);
  }

  findRun(thread: number, runId: string): number | undefined {
    return this.#key("SELECT key FROM checkpoint_runs WHERE thread = ? AND run_id = ?", thread, runId);
  }

  insertRun(thread: number, runId: string): number | undefined {
    const sql = "INSERT INTO checkpoint_runs (thread, run_id) VALUES (?, ?) ON CONFLICT (thread, run_id) DO NOTHING";
    return this.#insertNew(sql, thread, runId);
  }

  deleteRun(run: number): void {
    this.#database.prepare("DELETE FROM checkpoint_runs WHERE key = ?").run(run);
  }

  latestCheckpoint(namespace: number, newest: CheckpointQuery["newest"]): number | undefined {
    const sql = `SELECT key FROM checkpoint_rows WHERE namespace = ? AND data IS NOT NULL ORDER BY ${newest} DESC LIMIT 1`;
    return this.#key(sql, namespace);
  }

  findCheckpoint(namespace: number, id: string) {
    return this.#database
      .prepare<{ key: number; is_written: number }>(
        "SELECT key, data IS NOT NULL AS is_written FROM checkpoint_rows WHERE namespace = ? AND id = ?",
      )
      .get(namespace, packId(id));
  }

  insertCheckpoint(namespace: number, id: string): number | undefined {
    // Nearly every checkpoint is new: it is not looked for before it is written.
    const sql = "INSERT INTO checkpoint_rows (namespace, id) VALUES (?, ?) ON CONFLICT (namespace, id) DO NOTHING";
    return this.#insertNew(sql, namespace, packId(id));
  }

  writeCheckpoint(key: number, { parent, run, base, data, crc }: NewCheckpoint): void {
    this.#database
      .prepare("UPDATE checkpoint_rows SET parent = ?, run = ?, base = ?, data = ?, crc = ? WHERE key = ?")
      .run(parent === undefined ? null : packId(parent), run ?? null, base ?? null, data, crc, key);
  }

  completeCheckpoint(key: number, { data, crc }: Pick<CheckpointRow, "data" | "crc">): void {
    this.#database
      .prepare("UPDATE checkpoint_rows SET base = NULL, data = ?, crc = ? WHERE key = ?")
      .run(data, crc, key);
  }

  loadCheckpoint(key: number): CheckpointRow | undefined {
    const row = this.#database
      .prepare<StoredCheckpoint>(
        `SELECT id, parent, base, data, crc, run_id FROM checkpoint_rows
         LEFT JOIN checkpoint_runs ON checkpoint_runs.key = run
         WHERE checkpoint_rows.key = ? AND data IS NOT NULL`,
      )
      .get(key);
    if (row === undefined) return undefined;
    const { id, parent, base, data, crc, run_id } = row;
    return {
      id: unpackId(id),
      parent: parent === null ? undefined : unpackId(parent),
      base: base ?? undefined,
      data,
      crc,
      run_id: run_id ?? undefined,
    };
  }

  listCheckpoints(thread: number, newest: CheckpointQuery["newest"]): ListedCheckpoint[] {
    return this.#database
      .prepare<ListedCheckpoint>(
        `SELECT checkpoint_rows.key, namespace, base, run FROM checkpoint_rows
         JOIN checkpoint_namespaces ON checkpoint_namespaces.key = namespace
         WHERE thread = ? AND data IS NOT NULL ORDER BY namespace, checkpoint_rows.${newest} DESC`,
      )
      .all(thread);
  }

  searchCheckpoints({ threadId, name, id, before, newest }: CheckpointQuery) {
    const conditions = ["data IS NOT NULL"];
    const values: (string | Buffer)[] = [];
    const restrict = (condition: string, value: string | Buffer | undefined): void => {
      if (value === undefined) return;
      conditions.push(condition);
      values.push(value);
    };
    restrict("thread_id = ?", threadId);
    restrict("ns = ?", name);
    restrict("id = ?", id === undefined ? undefined : packId(id));
    restrict(newest === "key" ? writtenBefore : "id < ?", before === undefined ? undefined : packId(before));
    return this.#database
      .prepare<{ key: number; thread_id: string; ns: string }>(
        `SELECT checkpoint_rows.key, thread_id, ns FROM checkpoint_threads
         JOIN checkpoint_namespaces ON thread = checkpoint_threads.key
         JOIN checkpoint_rows ON namespace = checkpoint_namespaces.key
         WHERE ${conditions.join(" AND ")} ORDER BY checkpoint_rows.${newest} DESC`,
      )
      .all(...values);
  }

  deleteCheckpoint(key: number): void {
    this.#database.prepare("DELETE FROM checkpoint_rows WHERE key = ?").run(key);
  }

  insertBlob(thread: number, data: StoredData, crc: number): number {
    return this.#insert("INSERT INTO checkpoint_blobs (thread, data, crc) VALUES (?, ?, ?)", thread, data, crc);
  }

  findBlob(key: number) {
    const sql = "SELECT data, crc FROM checkpoint_blobs WHERE key = ?";
    return this.#database.prepare<{ data: StoredData; crc: number }>(sql).get(key);
  }

  listBlobs(thread: number): number[] {
    const rows = this.#database.prepare<Key>("SELECT key FROM checkpoint_blobs WHERE thread = ?").all(thread);
    return rows.map(({ key }) => key);
  }

  deleteBlob(key: number): void {
    this.#database.prepare("DELETE FROM checkpoint_blobs WHERE key = ?").run(key);
  }

  listWrites(checkpoint: number, task?: string): WriteRow[] {
    const sql = `SELECT task, part, path, data, crc FROM checkpoint_writes
      WHERE checkpoint = ? ${task === undefined ? "" : "AND task = ?"}`;
    const values = task === undefined ? [checkpoint] : [checkpoint, packId(task)];
    const rows = this.#database.prepare<Omit<WriteRow, "task"> & { task: string | Buffer }>(sql).all(...values);
    return rows.map((row) => ({ ...row, task: unpackId(row.task) }));
  }

  insertWrite(checkpoint: number, run: number | undefined, { task, part, path, data, crc }: WriteRow): void {
    this.#database
      .prepare(
        "INSERT INTO checkpoint_writes (checkpoint, task, part, path, run, data, crc) VALUES (?, ?, ?, ?, ?, ?, ?)",
      )
      .run(checkpoint, packId(task), part, path, run ?? null, data, crc);
  }

  deleteWrite(checkpoint: number, task: string, part: number): void {
    this.#database
      .prepare("DELETE FROM checkpoint_writes WHERE checkpoint = ? AND task = ? AND part = ?")
      .run(checkpoint, packId(task), part);
  }

  deleteWritesOfRun(checkpoint: number, run: number): void {
    this.#database.prepare("DELETE FROM checkpoint_writes WHERE checkpoint = ? AND run = ?").run(checkpoint, run);
  }

  nextItem({ key }: ThreadKey): number {
    const sql = "SELECT first + count AS key FROM checkpoint_items WHERE thread = ? ORDER BY first DESC LIMIT 1";
    return this.#key(sql, key) ?? 1;
  }

  listItems({ key }: ThreadKey, first: number, last: number): ItemRow[] {
    return this.#database
      .prepare<ItemRow>(
        `SELECT first, count, data, crc FROM checkpoint_items
         WHERE thread = ? AND first BETWEEN ? AND ? ORDER BY first`,
      )
      .all(key, first - maxItemsPerRow + 1, last);
  }

  insertItems({ key }: ThreadKey, { first, count, data, crc }: ItemRow): void {
    this.#database
      .prepare("INSERT INTO checkpoint_items (thread, first, count, data, crc) VALUES (?, ?, ?, ?, ?)")
      .run(key, first, count, data, crc);
  }

  updateItems({ key }: ThreadKey, { first, data, crc }: ItemRow): void {
    this.#database
      .prepare("UPDATE checkpoint_items SET data = ?, crc = ? WHERE thread = ? AND first = ?")
      .run(data, crc, key, first);
  }

  #key(sql: string, ...values: unknown[]): number | undefined {
    return this.#database.prepare<Key>(sql).get(...values)?.key;
  }

  #insert(sql: string, ...values: unknown[]): number {
    return Number(this.#database.prepare(sql).run(...values).lastInsertRowid);
  }

  /** The key of a new row; `undefined` where there is one like it. */
  #insertNew(sql: string, ...values: unknown[]): number | undefined {
    const added = this.#database.prepare(sql).run(...values);
    return added.changes > 0 ? Number(added.lastInsertRowid) : undefined;
  }
}
