import { crc32 } from "node:zlib";
import { ThreadCache, type CacheLimits, type NamespaceState, type ThreadState } from "./cache.ts";
import { corruptThreadError, ThreadItems, verifyChecksum } from "./items.ts";
import type { CheckpointRows, StoredData, ListedCheckpoint } from "./rows.ts";
import { asBase, fromRowText, toRowText, type CheckpointBody, type Snapshot } from "./snapshot.ts";

/** Where a snapshot goes, beside what it says. */
export interface CheckpointIds {
  id: string;
  parent: string | undefined;
  run: string | undefined;
}

/** Checkpoints over their rows, and what memory knows of them. Writers open the transaction. */
export class CheckpointStore {
  readonly rows: CheckpointRows;
  readonly cache: ThreadCache;

  constructor(rows: CheckpointRows, limits?: CacheLimits) {
    this.rows = rows;
    this.cache = new ThreadCache(limits);
  }

  /** The thread's state, `undefined` for one that has no rows. */
  thread(threadId: string): ThreadState | undefined {
    const known = this.cache.get(threadId);
    if (known !== undefined) return known;
    const row = this.rows.findThread(threadId);
    if (row === undefined) return undefined;
    return this.cache.add(new ThreadItems(row.key, threadId), row.clock_went_back === 0 ? "id" : "key");
  }

  /** The thread's state for writing: made when it is new, forgotten when the transaction is taken back. */
  ensureThread(threadId: string): ThreadState {
    this.rows.onRollback(() => this.cache.delete(threadId));
    const known = this.thread(threadId);
    if (known !== undefined) return known;
    return this.cache.add(new ThreadItems(this.rows.insertThread(threadId), threadId));
  }

  namespace(state: ThreadState, name: string): NamespaceState | undefined {
    const known = state.namespaces.get(name);
    if (known !== undefined) return known;
    const found = this.rows.findNamespace(state.items.key, name);
    return found && this.#addNamespace(state, name, { key: found.key, newestId: found.newest_id });
  }

  ensureNamespace(state: ThreadState, name: string): NamespaceState {
    const known = this.namespace(state, name);
    if (known !== undefined) return known;
    const key = this.rows.insertNamespace(state.items.key, name);
    return this.#addNamespace(state, name, { key, newestId: "" });
  }

  #addNamespace(state: ThreadState, name: string, known: Pick<NamespaceState, "key" | "newestId">): NamespaceState {
    const namespace: NamespaceState = { ...known, last: undefined, weight: 0 };
    state.namespaces.set(name, namespace);
    return namespace;
  }

  /** The key of a run, made when it is new. */
  ensureRun(state: ThreadState, runId: string): number {
    const known = state.runs.get(runId);
    if (known !== undefined) return known;
    // Nearly every run is new: it is not looked for before it is written.
    const key = this.rows.insertRun(state.items.key, runId) ?? this.rows.findRun(state.items.key, runId);
    if (key === undefined) throw corruptThreadError(state.items.threadId, "a run is missing");
    state.runs.clear();
    state.runs.set(runId, key);
    return key;
  }

  /** The newest checkpoint: that with the greatest id, or the one written last where the clock was set back. */
  latest(state: ThreadState, namespace: NamespaceState): number | undefined {
    const { last, newestId } = namespace;
    if (this.rows.isOnlyWriter && last !== undefined && last.id === newestId && state.newestBy === "id")
      return last.key;
    return this.rows.latestCheckpoint(namespace.key, state.newestBy);
  }

  find(namespace: NamespaceState, id: string): number | undefined {
    const found = this.rows.findCheckpoint(namespace.key, id);
    return found?.is_written === 1 ? found.key : undefined;
  }

  /** The key of a checkpoint, or of a new row without data: LangGraph may send a task's writes before the checkpoint itself. */
  ensureCheckpoint(namespace: NamespaceState, id: string): number {
    if (namespace.last?.id === id) return namespace.last.key;
    const known = this.rows.findCheckpoint(namespace.key, id)?.key;
    const key = known ?? this.#insertCheckpoint(namespace, id);
    if (key === undefined) throw new Error(`Checkpoint ${id} is not found and cannot be written.`);
    return key;
  }

  /** The key of a new row; `undefined` where there is one with this id. */
  #insertCheckpoint(namespace: NamespaceState, id: string): number | undefined {
    const isNewest = namespace.newestId !== undefined && id > namespace.newestId;
    if (isNewest) namespace.newestId = id;
    return this.rows.insertCheckpoint(namespace.key, id, isNewest);
  }

  /** A checkpoint by its key. Throws `storage_corrupt`, naming the thread, when its rows are damaged. */
  load(state: ThreadState, key: number, known?: Snapshot): Snapshot {
    const { threadId } = state.items;
    const row = this.rows.loadCheckpoint(key);
    if (row === undefined) throw corruptThreadError(threadId, "a checkpoint is missing");
    verifyChecksum(row.data, row.crc, threadId, "checkpoints");
    let base: Snapshot | undefined;
    if (row.base !== undefined) base = known?.key === row.base ? known : asBase(this.load(state, row.base));
    return {
      key,
      id: row.id,
      parent: row.parent,
      run: row.run_id,
      base,
      size: row.data.length,
      diffSize: 0,
      ...fromRowText(row.data, base, (blob) => this.#blob(state, blob)),
    };
  }

  /** Writes a checkpoint, as a difference from the parent's base where that is short. */
  write(
    state: ThreadState,
    namespace: NamespaceState,
    place: CheckpointIds,
    body: CheckpointBody,
    parent: Snapshot | undefined,
  ): Snapshot {
    if (place.parent !== undefined && place.id < place.parent) this.#markClockSetBack(state);
    if (parent !== undefined) this.rows.reserveKeysAbove?.(parent.key);
    const added = this.#insertCheckpoint(namespace, place.id);
    const key = added ?? this.ensureCheckpoint(namespace, place.id);
    if (added === undefined && this.find(namespace, place.id) !== undefined)
      this.completeDiffsFrom(state, new Set([key]));
    let base = parent?.base ?? (parent === undefined ? undefined : asBase(parent));
    let text = base === undefined || base.key === key ? undefined : toRowText(body, base);
    if (base === undefined || text === undefined || needsCompleteRow(base, text.length)) {
      base = undefined;
      text = toRowText(body, undefined) ?? "";
    } else base.diffSize += text.length;
    const run = place.run === undefined ? undefined : this.ensureRun(state, place.run);
    this.rows.writeCheckpoint(key, { parent: place.parent, run, base: base?.key, data: text, crc: crc32(text) });
    const tasks = added === undefined ? undefined : new Map();
    return { ...place, ...body, key, base, size: text.length, diffSize: 0, tasks };
  }

  /**
   * LangGraph makes ids of the time. Where one is smaller than its parent's, the machine's clock was set back, and by
   * their ids the new states would be older than those before: readers of the session would miss them.
   */
  #markClockSetBack(state: ThreadState): void {
    if (state.newestBy === "key") return;
    state.newestBy = "key";
    this.rows.markClockSetBack(state.items.key);
  }

  /** Makes the checkpoints complete that are written as differences from one of `bases`, which are about to change. */
  completeDiffsFrom(state: ThreadState, bases: ReadonlySet<number>): void {
    for (const { key, base } of this.list(state)) {
      if (base === null || !bases.has(base) || bases.has(key)) continue;
      const text = toRowText(this.load(state, key), undefined) ?? "";
      this.rows.completeCheckpoint(key, { data: text, crc: crc32(text) });
    }
    for (const namespace of state.namespaces.values()) namespace.last = undefined;
  }

  /** All checkpoints of a thread, newest first within a namespace. */
  list(state: ThreadState): ListedCheckpoint[] {
    return this.rows.listCheckpoints(state.items.key, state.newestBy);
  }

  /** Keeps a large value in a row of its own. */
  putBlob(state: ThreadState, data: StoredData): number {
    return this.rows.insertBlob(state.items.key, data, crc32(data));
  }

  #blob(state: ThreadState, key: number): StoredData {
    const row = this.rows.findBlob(key);
    if (row === undefined) throw corruptThreadError(state.items.threadId, "a value is missing");
    verifyChecksum(row.data, row.crc, state.items.threadId, "values");
    return row.data;
  }
}

/** Whether a new complete row is due: the differences have become long, or many. */
function needsCompleteRow(base: Snapshot, length: number): boolean {
  return length > base.size / 2 + 512 || base.diffSize + length > 2 * base.size + 4096;
}
