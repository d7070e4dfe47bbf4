import { z } from "zod";
import type {
  CheckpointQuery,
  CheckpointRow,
  CheckpointRows,
  Data,
  ItemRow,
  KnownThread,
  ListedCheckpoint,
  NewCheckpoint,
  WriteRow,
} from "../../checkpoints/rows.ts";
import type { PostgresDatabase } from "../database/database.ts";
import { Batch } from "./batch.ts";
import { Loader, NotLoaded } from "./loader.ts";

/** Rows of items of a thread that were written last, which may be written again: an item gets its id a step later. */
const recentRows = 4;

/** Where a checkpointer is about to read and write: its first look brings all of that along. */
export interface Place {
  threadId: string;
  name: string;
  run: string | undefined;
  /** Whether memory knows all of that, so that nothing has to be brought. */
  isKnown?: boolean;
}

/** One piece of work: what it has read, what it writes, and how memory forgets it. */
interface Work {
  loader: Loader;
  batch: Batch;
  /** Threads, namespaces and checkpoints that are made here: nobody has written anything for them. */
  fresh: Set<number>;
  /** What was made here, by the names under which it would be looked for. */
  made: Map<string, unknown>;
  undo: (() => void)[];
}

const Block = z.object({ first: z.number() });
/** How many keys a block has: the sequence's increment. */
const blockSize = 1000;

/**
 * The rows of the checkpointer in PostgreSQL. Work above is synchronous: it reads what was loaded, and where it lacks a row
 * it is stopped, the row is loaded, and it runs again. What it writes is collected, and is one statement at its end.
 */
export class PostgresCheckpointRows implements CheckpointRows {
  readonly #database: PostgresDatabase;
  #work: Work | undefined;
  #keys = { next: 0, end: 0 };
  /** The next item of threads that this process has written to, and the rows of items it wrote last. */
  readonly #nextItems = new WeakMap<KnownThread, number>();
  readonly #recent = new WeakMap<KnownThread, ItemRow[]>();

  constructor(database: PostgresDatabase) {
    this.#database = database;
  }

  async read<Result>(work: () => Result, place?: Place): Promise<Result> {
    return await this.#repeat({ work, place, isWrite: false });
  }

  /**
   * Runs synchronous work that writes, and hands what it writes to `send`. What memory has noted of it is taken back when
   * either fails.
   */
  async write(work: () => void, place: Place, send: (batch: Batch) => Promise<void>): Promise<void> {
    const done: { work?: Work } = {};
    await this.#repeat({ work, place, isWrite: true, done });
    try {
      if (done.work !== undefined) await send(done.work.batch);
    } catch (error) {
      for (const undo of done.work?.undo.reverse() ?? []) undo();
      throw error;
    }
  }

  /** Whether a write to this thread finds its next item without a look at the database. */
  knowsItems(thread: KnownThread): boolean {
    return this.#nextItems.has(thread);
  }

  async #repeat<Result>({
    work,
    place,
    isWrite,
    done,
  }: {
    work: () => Result;
    place: Place | undefined;
    isWrite: boolean;
    done?: { work?: Work };
  }): Promise<Result> {
    const loader = new Loader(this.#database, place);
    if (isWrite && place !== undefined && !place.isKnown) await loader.prefetch();
    for (;;) {
      const current: Work = { loader, batch: new Batch(), fresh: new Set(), made: new Map(), undo: [] };
      const before = this.#work;
      this.#work = current;
      let missing: NotLoaded;
      try {
        const result = work();
        if (done !== undefined) done.work = current;
        return result;
      } catch (error) {
        if (isWrite) for (const undo of current.undo.toReversed()) undo();
        if (!(error instanceof NotLoaded)) throw error;
        missing = error;
      } finally {
        this.#work = before;
      }
      await missing.load();
    }
  }

  get #current(): Work {
    if (this.#work === undefined) throw new Error("Checkpoints are read and written by `read` and `write` only.");
    return this.#work;
  }

  /** What the work writes, for what goes with it. */
  get batch(): Batch {
    return this.#current.batch;
  }

  onRollback(undo: () => void): void {
    this.#work?.undo.push(undo);
  }

  #nextKey(): number {
    if (this.#keys.next >= this.#keys.end) {
      throw new NotLoaded(async () => {
        const [row] = await this.#database.rows("SELECT nextval('checkpoint_keys') AS first");
        const { first } = Block.parse(row);
        this.#keys = { next: first, end: first + blockSize };
      });
    }
    return this.#keys.next++;
  }

  #insert(): number {
    const key = this.#nextKey();
    this.#current.fresh.add(key);
    return key;
  }

  findThread(threadId: string) {
    return (
      this.#made<{ key: number; clock_went_back: number }>(`thread ${threadId}`) ??
      this.#current.loader.thread(threadId)
    );
  }

  insertThread(threadId: string): number {
    const { made, batch } = this.#current;
    const key = this.#insert();
    batch.threads.push([key, threadId]);
    made.set(`thread ${threadId}`, { key, clock_went_back: 0 });
    return key;
  }

  noteClock(thread: number): void {
    this.batch.clocks.push(thread);
  }

  deleteThread(threadId: string): void {
    this.batch.removedThreads.push(threadId);
  }

  findNamespace(thread: number, name: string) {
    return this.#ofFresh(thread, `namespace ${thread} ${name}`, () => this.#current.loader.namespace(thread, name));
  }

  insertNamespace(thread: number, name: string): number {
    const { made, batch } = this.#current;
    const key = this.#insert();
    batch.namespaces.push([key, thread, name]);
    made.set(`namespace ${thread} ${name}`, { key, newest_id: "" });
    return key;
  }

  findRun(thread: number, runId: string): number | undefined {
    return this.#ofFresh(thread, `run ${thread} ${runId}`, () => this.#current.loader.run(thread, runId));
  }

  insertRun(thread: number, runId: string): number | undefined {
    if (this.findRun(thread, runId) !== undefined) return undefined;
    const key = this.#nextKey();
    this.batch.runs.push([key, thread, runId]);
    this.#current.made.set(`run ${thread} ${runId}`, key);
    return key;
  }

  deleteRun(run: number): void {
    this.batch.removedRuns.push(run);
  }

  latestCheckpoint(namespace: number, newest: CheckpointQuery["newest"]): number | undefined {
    if (this.#current.fresh.has(namespace)) return undefined;
    return this.#current.loader.latest(namespace, newest);
  }

  findCheckpoint(namespace: number, id: string) {
    return this.#ofFresh(namespace, `checkpoint ${namespace} ${id}`, () =>
      this.#current.loader.checkpoint(namespace, id),
    );
  }

  insertCheckpoint(namespace: number, id: string, isNewest: boolean): number | undefined {
    const { made, batch } = this.#current;
    const name = `checkpoint ${namespace} ${id}`;
    const known = isNewest ? made.get(name) : this.findCheckpoint(namespace, id);
    if (known !== undefined) return undefined;
    const key = this.#insert();
    batch.inserted.set(key, { namespace, id, row: undefined });
    made.set(name, { key, is_written: 0 });
    return key;
  }

  writeCheckpoint(key: number, row: NewCheckpoint): void {
    const { made, batch } = this.#current;
    const inserted = batch.inserted.get(key);
    if (inserted === undefined) batch.written.set(key, row);
    else {
      inserted.row = row;
      made.set(`checkpoint ${inserted.namespace} ${inserted.id}`, { key, is_written: 1 });
    }
  }

  completeCheckpoint(key: number, { data, crc }: Pick<CheckpointRow, "data" | "crc">): void {
    this.batch.completed.push([key, data, crc]);
  }

  loadCheckpoint(key: number): CheckpointRow | undefined {
    return this.#current.loader.row(key);
  }

  listCheckpoints(thread: number, newest: CheckpointQuery["newest"]): ListedCheckpoint[] {
    const { loader, batch, fresh } = this.#current;
    // What is made here is not carried on from anywhere.
    if (fresh.has(thread)) return [];
    const removed = new Set(batch.removedCheckpoints);
    return loader.checkpoints(thread, newest).filter(({ key }) => !removed.has(key));
  }

  searchCheckpoints(query: CheckpointQuery) {
    return this.#current.loader.search(query);
  }

  deleteCheckpoint(key: number): void {
    this.batch.removedCheckpoints.push(key);
  }

  insertBlob(thread: number, data: Data, crc: number): number {
    const key = this.#nextKey();
    this.batch.blobs.push([key, thread, data, crc]);
    return key;
  }

  findBlob(key: number) {
    return this.#current.loader.blob(key);
  }

  listBlobs(thread: number): number[] {
    return this.#current.fresh.has(thread) ? [] : this.#current.loader.blobs(thread);
  }

  deleteBlob(key: number): void {
    this.batch.removedBlobs.push(key);
  }

  listWrites(checkpoint: number, task?: string): WriteRow[] {
    const { loader, batch, fresh } = this.#current;
    const stored = fresh.has(checkpoint) ? [] : loader.writes(checkpoint, task);
    const removed = batch.removedWrites.filter(([at]) => at === checkpoint);
    const kept = stored.filter((row) => !removed.some(([, of, part]) => of === row.task && part === row.part));
    const added = batch.writes.filter(([at, , row]) => at === checkpoint && (task === undefined || row.task === task));
    return [...kept, ...added.map(([, , row]) => row)];
  }

  insertWrite(checkpoint: number, run: number | undefined, row: WriteRow): void {
    this.batch.writes.push([checkpoint, run, row]);
  }

  deleteWrite(checkpoint: number, task: string, part: number): void {
    const { batch } = this.#current;
    const at = batch.writes.findIndex(([of, , row]) => of === checkpoint && row.task === task && row.part === part);
    if (at === -1) batch.removedWrites.push([checkpoint, task, part]);
    else batch.writes.splice(at, 1);
  }

  deleteWritesOfRun(checkpoint: number, run: number): void {
    this.batch.removedWritesOfRun.push([checkpoint, run]);
  }

  nextItem(thread: KnownThread): number {
    const known = this.#nextItems.get(thread);
    if (known !== undefined) return known;
    return this.#current.fresh.has(thread.key) ? 1 : this.#current.loader.nextItem(thread.key);
  }

  expectItems(thread: KnownThread, ranges: readonly number[]): void {
    if (!this.#current.fresh.has(thread.key)) this.#current.loader.expectItems(thread.key, ranges);
  }

  listItems(thread: KnownThread, first: number, last: number): ItemRow[] {
    const { loader, fresh } = this.#current;
    const recent = (this.#recent.get(thread) ?? []).filter((row) => covers(row, first, last));
    const oldest = Math.min(...recent.map((row) => row.first));
    // Rows that this process has written last are the newest ones: what begins with them is whole.
    if (fresh.has(thread.key) || oldest <= first) return inOrder(recent);
    return inOrder([...recent, ...loader.items(thread.key, first, last)]);
  }

  insertItems(thread: KnownThread, row: ItemRow): void {
    this.batch.items.push({ thread: thread.key, row, isNew: true });
    this.#nextItems.set(thread, row.first + row.count);
    this.#recent.set(thread, [row, ...(this.#recent.get(thread) ?? [])].slice(0, recentRows));
    this.onRollback(() => this.#forgetItems(thread));
  }

  updateItems(thread: KnownThread, row: ItemRow): void {
    const { batch } = this.#current;
    const written = batch.items.find((item) => item.thread === thread.key && item.row.first === row.first);
    if (written === undefined) batch.items.push({ thread: thread.key, row, isNew: false });
    else written.row = row;
    const recent = this.#recent.get(thread) ?? [];
    this.#recent.set(
      thread,
      recent.map((one) => (one.first === row.first ? row : one)),
    );
    this.onRollback(() => this.#forgetItems(thread));
  }

  #forgetItems(thread: KnownThread): void {
    this.#nextItems.delete(thread);
    this.#recent.delete(thread);
  }

  /** What is known of something that belongs to `owner`; where that is made here, there is nothing else. */
  #ofFresh<Row>(owner: number, name: string, load: () => Row | undefined): Row | undefined {
    return this.#made<Row>(name) ?? (this.#current.fresh.has(owner) ? undefined : load());
  }

  #made<Row>(name: string): Row | undefined {
    return this.#current.made.get(name) as Row | undefined; // a name says what kind of row it is of
  }
}

function covers(row: ItemRow, first: number, last: number): boolean {
  return row.first <= last && row.first + row.count > first;
}

/** Each row once, the first of equal ones. */
function inOrder(rows: readonly ItemRow[]): ItemRow[] {
  const byFirst = new Map<number, ItemRow>();
  for (const row of rows) if (!byFirst.has(row.first)) byFirst.set(row.first, row);
  return [...byFirst.values()].sort((left, right) => left.first - right.first);
}
