import { crc32 } from "node:zlib";
import { ThreadCache, type CacheLimits, type NamespaceState, type ThreadState } from "../cache.ts";
import type { Database } from "../database/database.ts";
import { corruptThread, ThreadItems, verify } from "./items.ts";
import { asBase, readRow, rowText, type Body, type Snapshot } from "./snapshot.ts";

const canonicalUuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** An id as it is stored: a UUID as its 16 bytes (which sort like its text), anything else as text. */
export function packId(id: string): string | Buffer {
  return canonicalUuid.test(id) ? Buffer.from(id.replaceAll("-", ""), "hex") : id;
}

/** The id that `packId` has packed. */
export function unpackId(id: string | Buffer): string {
  if (typeof id === "string") return id;
  const hex = id.toString("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

interface CheckpointRow {
  id: string | Buffer;
  parent: string | Buffer | null;
  base: number | null;
  data: string;
  crc: number;
  run_id: string | null;
}

interface Key {
  key: number;
}

interface ThreadRow extends Key {
  clock_went_back: number;
}

/** Where a snapshot goes, beside what it says. */
export interface Place {
  id: string;
  parent: string | undefined;
  run: string | undefined;
}

/** The rows of checkpoints, and what memory knows of them. Everything here is synchronous; writers open the transaction. */
export class CheckpointStore {
  readonly database: Database;
  readonly cache: ThreadCache;

  constructor(database: Database, limits?: CacheLimits) {
    this.database = database;
    this.cache = new ThreadCache(limits);
  }

  /** The thread's state, `undefined` for one that has no rows. */
  thread(threadId: string): ThreadState | undefined {
    const known = this.cache.get(threadId);
    if (known !== undefined) return known;
    const row = this.database
      .prepare<ThreadRow>("SELECT key, clock_went_back FROM checkpoint_threads WHERE thread_id = ?")
      .get(threadId);
    if (row === undefined) return undefined;
    return this.cache.add(new ThreadItems(row.key, threadId), row.clock_went_back !== 0);
  }

  /** The thread's state for writing: made when it is new, forgotten when the transaction is taken back. */
  openThread(threadId: string): ThreadState {
    this.database.onRollback(() => this.cache.delete(threadId));
    const known = this.thread(threadId);
    if (known !== undefined) return known;
    const key = this.#insert("INSERT INTO checkpoint_threads (thread_id) VALUES (?)", threadId);
    return this.cache.add(new ThreadItems(key, threadId));
  }

  namespace(state: ThreadState, name: string): NamespaceState | undefined {
    const known = state.namespaces.get(name);
    if (known !== undefined) return known;
    const row = this.database
      .prepare<Key>("SELECT key FROM checkpoint_namespaces WHERE thread = ? AND ns = ?")
      .get(state.items.key, name);
    if (row === undefined) return undefined;
    const namespace: NamespaceState = { key: row.key, last: undefined, weight: 0 };
    state.namespaces.set(name, namespace);
    return namespace;
  }

  openNamespace(state: ThreadState, name: string): NamespaceState {
    const known = this.namespace(state, name);
    if (known !== undefined) return known;
    const key = this.#insert("INSERT INTO checkpoint_namespaces (thread, ns) VALUES (?, ?)", state.items.key, name);
    const namespace: NamespaceState = { key, last: undefined, weight: 0 };
    state.namespaces.set(name, namespace);
    return namespace;
  }

  /** The key of a run, made when it is new. */
  openRun(state: ThreadState, runId: string): number {
    const known = state.runs.get(runId);
    if (known !== undefined) return known;
    // Nearly every run is new: it is not looked for before it is written.
    const added = this.database
      .prepare("INSERT INTO checkpoint_runs (thread, run_id) VALUES (?, ?) ON CONFLICT (thread, run_id) DO NOTHING")
      .run(state.items.key, runId);
    const key = added.changes > 0 ? Number(added.lastInsertRowid) : this.run(state, runId);
    if (key === undefined) throw corruptThread(state.items.threadId, "a run is missing");
    state.runs.clear();
    state.runs.set(runId, key);
    return key;
  }

  run(state: ThreadState, runId: string): number | undefined {
    return this.database
      .prepare<Key>("SELECT key FROM checkpoint_runs WHERE thread = ? AND run_id = ?")
      .get(state.items.key, runId)?.key;
  }

  /** The newest checkpoint: that with the greatest id, or the one written last where the clock was set back. */
  latest({ clockWentBack }: ThreadState, namespace: NamespaceState): number | undefined {
    const order = clockWentBack ? "key" : "id";
    return this.database
      .prepare<Key>(
        `SELECT key FROM checkpoint_rows WHERE namespace = ? AND data IS NOT NULL ORDER BY ${order} DESC LIMIT 1`,
      )
      .get(namespace.key)?.key;
  }

  find(namespace: NamespaceState, id: string): number | undefined {
    return this.database
      .prepare<Key>("SELECT key FROM checkpoint_rows WHERE namespace = ? AND id = ? AND data IS NOT NULL")
      .get(namespace.key, packId(id))?.key;
  }

  /** The key of a checkpoint, also of one of which only writes are known yet. */
  findKey(namespace: NamespaceState, id: string): number | undefined {
    return this.database
      .prepare<Key>("SELECT key FROM checkpoint_rows WHERE namespace = ? AND id = ?")
      .get(namespace.key, packId(id))?.key;
  }

  /** `findKey`, or a new row without data: LangGraph may send a task's writes before the checkpoint itself. */
  openKey(namespace: NamespaceState, id: string): number {
    if (namespace.last?.id === id) return namespace.last.key;
    const key = this.findKey(namespace, id);
    return key ?? this.#insert("INSERT INTO checkpoint_rows (namespace, id) VALUES (?, ?)", namespace.key, packId(id));
  }

  /** A checkpoint by its key. Throws `storage_corrupt`, naming the thread, when its rows are damaged. */
  load(state: ThreadState, key: number, known?: Snapshot): Snapshot {
    const { threadId } = state.items;
    const row = this.database
      .prepare<CheckpointRow>(
        `SELECT id, parent, base, data, crc, run_id FROM checkpoint_rows
         LEFT JOIN checkpoint_runs ON checkpoint_runs.key = run
         WHERE checkpoint_rows.key = ? AND data IS NOT NULL`,
      )
      .get(key);
    if (row === undefined) throw corruptThread(threadId, "a checkpoint is missing");
    verify(row.data, row.crc, threadId, "checkpoints");
    let base: Snapshot | undefined;
    if (row.base !== null) base = known?.key === row.base ? known : asBase(this.load(state, row.base));
    return {
      key,
      id: unpackId(row.id),
      parent: row.parent === null ? undefined : unpackId(row.parent),
      run: row.run_id ?? undefined,
      base,
      size: row.data.length,
      spent: 0,
      ...readRow(row.data, base, (blob) => this.#blob(state, blob)),
    };
  }

  /** Writes a checkpoint, as a difference from the parent's base where that is short. */
  write(
    state: ThreadState,
    namespace: NamespaceState,
    place: Place,
    body: Body,
    parent: Snapshot | undefined,
  ): Snapshot {
    if (place.parent !== undefined && place.id < place.parent) this.#noteClock(state);
    // Nearly every checkpoint is new: it is not looked for before it is written.
    const added = this.database
      .prepare("INSERT INTO checkpoint_rows (namespace, id) VALUES (?, ?) ON CONFLICT (namespace, id) DO NOTHING")
      .run(namespace.key, packId(place.id));
    const isNew = added.changes > 0;
    const key = isNew ? Number(added.lastInsertRowid) : this.openKey(namespace, place.id);
    if (!isNew && this.find(namespace, place.id) !== undefined) this.detach(state, new Set([key]));
    let base = parent?.base ?? (parent === undefined ? undefined : asBase(parent));
    let text = base === undefined || base.key === key ? undefined : rowText(body, base);
    if (base === undefined || text === undefined || outgrown(base, text.length)) {
      base = undefined;
      text = rowText(body, undefined) ?? "";
    } else base.spent += text.length;
    const run = place.run === undefined ? null : this.openRun(state, place.run);
    this.database
      .prepare("UPDATE checkpoint_rows SET parent = ?, run = ?, base = ?, data = ?, crc = ? WHERE key = ?")
      .run(place.parent === undefined ? null : packId(place.parent), run, base?.key ?? null, text, crc32(text), key);
    return { ...place, ...body, key, base, size: text.length, spent: 0 };
  }

  /**
   * LangGraph makes ids of the time. Where one is smaller than its parent's, the machine's clock was set back, and by
   * their ids the states that come now would be older than those before: whoever reads the session would miss them.
   */
  #noteClock(state: ThreadState): void {
    if (state.clockWentBack) return;
    state.clockWentBack = true;
    this.database.prepare("UPDATE checkpoint_threads SET clock_went_back = 1 WHERE key = ?").run(state.items.key);
  }

  /** Makes the checkpoints complete that are written as differences from one of `bases`, which are about to change. */
  detach(state: ThreadState, bases: ReadonlySet<number>): void {
    for (const { key, base } of this.rows(state)) {
      if (base === null || !bases.has(base) || bases.has(key)) continue;
      const text = rowText(this.load(state, key), undefined) ?? "";
      this.database
        .prepare("UPDATE checkpoint_rows SET base = NULL, data = ?, crc = ? WHERE key = ?")
        .run(text, crc32(text), key);
    }
    for (const namespace of state.namespaces.values()) namespace.last = undefined;
  }

  /** All checkpoints of a thread, newest first within a namespace. */
  rows(state: ThreadState): { key: number; namespace: number; base: number | null; run: number | null }[] {
    const order = state.clockWentBack ? "checkpoint_rows.key" : "id";
    return this.database
      .prepare<{ key: number; namespace: number; base: number | null; run: number | null }>(
        `SELECT checkpoint_rows.key, namespace, base, run FROM checkpoint_rows
         JOIN checkpoint_namespaces ON checkpoint_namespaces.key = namespace
         WHERE thread = ? AND data IS NOT NULL ORDER BY namespace, ${order} DESC`,
      )
      .all(state.items.key);
  }

  /** Keeps a large value in a row of its own. */
  putBlob(state: ThreadState, data: string | Buffer): number {
    return this.#insert(
      "INSERT INTO checkpoint_blobs (thread, data, crc) VALUES (?, ?, ?)",
      state.items.key,
      data,
      crc32(data),
    );
  }

  #blob(state: ThreadState, key: number): string | Buffer {
    const row = this.database
      .prepare<{ data: string | Buffer; crc: number }>("SELECT data, crc FROM checkpoint_blobs WHERE key = ?")
      .get(key);
    if (row === undefined) throw corruptThread(state.items.threadId, "a value is missing");
    verify(row.data, row.crc, state.items.threadId, "values");
    return row.data;
  }

  #insert(sql: string, ...values: unknown[]): number {
    return Number(this.database.prepare(sql).run(...values).lastInsertRowid);
  }
}

/** Whether a new complete row is due: the differences have become long, or many. */
function outgrown(base: Snapshot, length: number): boolean {
  return length > base.size / 2 + 512 || base.spent + length > 2 * base.size + 4096;
}
