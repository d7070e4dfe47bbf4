/** JSON text, or what `frame` makes of JSON with bytes. */
export type StoredData = string | Buffer;

/** A thread by its key: one object for as long as memory knows of the thread. */
export interface ThreadKey {
  readonly key: number;
}

/** The row of a checkpoint that was written. */
export interface CheckpointRow {
  id: string;
  parent: string | undefined;
  base: number | undefined;
  data: string;
  crc: number;
  run_id: string | undefined;
}

/** What is written of a checkpoint; `run` and `base` are keys. */
export interface NewCheckpoint extends Pick<CheckpointRow, "parent" | "base" | "data" | "crc"> {
  run: number | undefined;
}

/** A checkpoint in the list of a thread's; `base` and `run` are keys. */
export interface ListedCheckpoint {
  key: number;
  namespace: number;
  base: number | null;
  run: number | null;
}

/** Which checkpoints a listing shows. Ids are texts; what is absent restricts nothing. */
export interface CheckpointQuery {
  threadId: string | undefined;
  name: string | undefined;
  id: string | undefined;
  before: string | undefined;
  /** What is newer: what has the greater id, or the greater key. */
  newest: "id" | "key";
}

/** A part of what a task wrote at a checkpoint. */
export interface WriteRow {
  task: string;
  part: number;
  path: string;
  data: StoredData;
  crc: number;
}

/** Up to 64 items in a row, the first of them with this sequence. */
export interface ItemRow {
  first: number;
  count: number;
  data: StoredData;
  crc: number;
}

/**
 * The rows of the checkpointer in a database. All of it is synchronous, so that the code above is pure: it reads rows and
 * writes rows. A database that has to be waited for reads ahead, and runs work again when it lacks a row (`read`). Writes
 * happen inside of a transaction that the caller has opened. Keys are integers that are never used twice.
 */
export interface CheckpointRows {
  /** Whether only this process writes rows, so that what memory knows of them is not looked up again. */
  readonly isOnlyWriter: boolean;
  /** The result of synchronous work that reads; failures of the database are `AppError`s. */
  read<Result>(work: () => Result): Result | Promise<Result>;
  /** Calls `undo` when the transaction that is open now is taken back: for what memory remembers of written rows. */
  onRollback(undo: () => void): void;

  findThread(threadId: string): { key: number; clock_went_back: number } | undefined;
  insertThread(threadId: string): number;
  /** Notes that ids say nothing about which of the thread's states is newer. */
  markClockSetBack(thread: number): void;
  /** Removes a thread with everything of it. */
  deleteThread(threadId: string): void;
  /** `newest_id`: no checkpoint of it has a greater id; absent where that is not known. */
  findNamespace(thread: number, name: string): { key: number; newest_id?: string } | undefined;
  insertNamespace(thread: number, name: string): number;
  findRun(thread: number, runId: string): number | undefined;
  /** The key of the new run; `undefined` where it is there already. */
  insertRun(thread: number, runId: string): number | undefined;
  deleteRun(run: number): void;

  /** The newest checkpoint of a namespace that was written. */
  latestCheckpoint(namespace: number, newest: CheckpointQuery["newest"]): number | undefined;
  /** A checkpoint by its id; `is_written` is 0 while only writes at it are known. */
  findCheckpoint(namespace: number, id: string): { key: number; is_written: number } | undefined;
  /** Keys that are given from now on are greater than one of another server; nothing where there can be no other server. */
  reserveKeysAbove?(key: number): void;
  /** The key of a new checkpoint without data; `undefined` where there is one with this id. `isNewest`: there is none. */
  insertCheckpoint(namespace: number, id: string, isNewest: boolean): number | undefined;
  writeCheckpoint(key: number, row: NewCheckpoint): void;
  /** Replaces a difference from a base by the whole. */
  completeCheckpoint(key: number, row: Pick<CheckpointRow, "data" | "crc">): void;
  loadCheckpoint(key: number): CheckpointRow | undefined;
  /** The checkpoints of a thread that were written, newest first within a namespace. */
  listCheckpoints(thread: number, newest: CheckpointQuery["newest"]): ListedCheckpoint[];
  /** Those that a listing shows, newest first. */
  searchCheckpoints(query: CheckpointQuery): { key: number; thread_id: string; ns: string }[];
  /** Removes a checkpoint and what was written at it. */
  deleteCheckpoint(key: number): void;

  insertBlob(thread: number, data: StoredData, crc: number): number;
  findBlob(key: number): { data: StoredData; crc: number } | undefined;
  listBlobs(thread: number): number[];
  deleteBlob(key: number): void;

  /** What tasks, or one task, wrote at a checkpoint, by task and part. */
  listWrites(checkpoint: number, task?: string): WriteRow[];
  insertWrite(checkpoint: number, run: number | undefined, row: WriteRow): void;
  deleteWrite(checkpoint: number, task: string, part: number): void;
  deleteWritesOfRun(checkpoint: number, run: number): void;

  /** The sequence of the thread's next item, from 1. */
  nextItem(thread: ThreadKey): number;
  /** Says which items are read next: a database that has to be waited for fetches them at once. */
  expectItems?(thread: ThreadKey, ranges: readonly number[]): void;
  /** The rows that hold the items from `first` to `last`, and maybe some before them, in order. */
  listItems(thread: ThreadKey, first: number, last: number): ItemRow[];
  insertItems(thread: ThreadKey, row: ItemRow): void;
  updateItems(thread: ThreadKey, row: ItemRow): void;
}
