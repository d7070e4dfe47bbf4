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
import type { Cluster } from "../../cluster.ts";
import type { PostgresDatabase } from "../database/database.ts";
import type { Batch } from "./batch.ts";
import { inOrder, RecentItems } from "./items.ts";
import type { Place } from "./loader.ts";
import { type Work, WorkRunner } from "./work.ts";

/** The rows of the checkpointer in PostgreSQL, for synchronous work; see `Works`. */
export class PostgresCheckpointRows implements CheckpointRows {
  readonly #works: WorkRunner;
  readonly #recent = new RecentItems();
  readonly #cluster: Cluster;

  constructor(database: PostgresDatabase, cluster: Cluster) {
    this.#works = new WorkRunner(database, cluster);
    this.#cluster = cluster;
  }

  get isOnlyWriter(): boolean {
    return this.#cluster.serverCount === 1;
  }

  read<Result>(work: () => Result, place?: Place): Promise<Result> {
    return this.#works.read(work, place);
  }

  /** See `Works.expectNone`. */
  expectNone(threadId: string): void {
    this.#works.expectNone(threadId);
  }

  /** See `Works.expectAny`. */
  expectAny(threadId?: string): void {
    this.#works.expectAny(threadId);
  }

  /** See `Works.write`. */
  write(work: () => void, place: Place, send: (batch: Batch) => Promise<void>): Promise<Work> {
    return this.#works.write(work, place, send);
  }

  /** Whether a write to this thread finds its next item without a look at the database. */
  knowsItems(thread: ThreadKey): boolean {
    return this.#recent.next(thread) !== undefined;
  }

  /** Remembers where the items of a thread end, as far as a work that was written has found it out. */
  learnItems(thread: ThreadKey, { fresh, loader }: Work): void {
    const next = fresh.has(thread.key) ? 1 : loader.loadedNext(thread.key);
    if (next !== undefined && !this.knowsItems(thread)) this.#recent.beginAt(thread, next);
  }

  /** See `Works.reserveKeysAbove`. */
  reserveKeysAbove(key: number): void {
    this.#works.reserveKeysAbove(key);
  }

  get #current(): Work {
    return this.#works.current;
  }

  /** What the work writes, for what goes with it. */
  get batch(): Batch {
    return this.#current.batch;
  }

  onRollback(undo: () => void): void {
    this.#current.undo.push(undo);
  }

  /** The key of something new, which has no rows yet. */
  #insert(): number {
    const key = this.#works.nextKey();
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

  markClockSetBack(thread: number): void {
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
    const key = this.#works.nextKey();
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

  insertBlob(thread: number, data: StoredData, crc: number): number {
    const key = this.#works.nextKey();
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

  nextItem(thread: ThreadKey): number {
    const known = this.#recent.next(thread);
    if (known !== undefined) return known;
    return this.#current.fresh.has(thread.key) ? 1 : this.#current.loader.nextItem(thread.key);
  }

  expectItems(thread: ThreadKey, ranges: readonly number[]): void {
    if (!this.#current.fresh.has(thread.key)) this.#current.loader.items.expect(thread.key, ranges);
  }

  listItems(thread: ThreadKey, first: number, last: number): ItemRow[] {
    const { loader, fresh } = this.#current;
    const recent = this.#recent.list(thread, first, last);
    // Rows that this process has written last are the newest ones: what begins with them is whole.
    if (fresh.has(thread.key) || (recent[0] !== undefined && recent[0].first <= first)) return recent;
    return inOrder([...recent, ...loader.items.list(thread.key, first, last)]);
  }

  insertItems(thread: ThreadKey, row: ItemRow): void {
    this.batch.items.push({ thread: thread.key, row, isNew: true });
    this.#recent.add(thread, row);
    this.onRollback(() => this.#recent.forget(thread));
  }

  updateItems(thread: ThreadKey, row: ItemRow): void {
    const { batch } = this.#current;
    const written = batch.items.find((item) => item.thread === thread.key && item.row.first === row.first);
    if (written === undefined) batch.items.push({ thread: thread.key, row, isNew: false });
    else written.row = row;
    this.#recent.replace(thread, row);
    this.onRollback(() => this.#recent.forget(thread));
  }

  /** What is known of something that belongs to `owner`; where that is made here, there is nothing else. */
  #ofFresh<Row>(owner: number, name: string, load: () => Row | undefined): Row | undefined {
    return this.#made<Row>(name) ?? (this.#current.fresh.has(owner) ? undefined : load());
  }

  #made<Row>(name: string): Row | undefined {
    return this.#current.made.get(name) as Row | undefined; // a name says what kind of row it is of
  }
}
