import { z } from "zod";
import type { CheckpointQuery, CheckpointRow, StoredData, ListedCheckpoint, WriteRow } from "../../checkpoints/rows.ts";
import { readRow, readRows } from "../../rows.ts";
import type { PostgresDatabase, Values } from "../database/database.ts";
import type { AbsentThreads } from "./absent-threads.ts";
import { dataOf } from "./batch.ts";
import { LoadedItems, NotLoaded } from "./items.ts";

const DataColumns = { text: z.string().nullable(), bytes: z.instanceof(Uint8Array).nullable() };
const Key = z.object({ key: z.number() });
const ThreadRow = z.object({
  key: z.number(),
  clock_went_back: z.number(),
  namespace: z.number().nullable(),
  newest_id: z.string().nullable(),
  run: z.number().nullable(),
  next_item: z.number(),
});
const NamespaceRow = z.object({ key: z.number(), newest_id: z.string().nullable() });
const FoundRow = z.object({ key: z.number(), is_written: z.number() });
const ListedRow = z.object({
  key: z.number(),
  namespace: z.number(),
  base: z.number().nullable(),
  run: z.number().nullable(),
});
const SearchRow = z.object({ key: z.number(), thread_id: z.string(), ns: z.string() });
const BlobRow = z.object({ key: z.number(), ...DataColumns, crc: z.number() });
const StoredWrite = z.object({
  task: z.string(),
  part: z.number(),
  path: z.string(),
  ...DataColumns,
  crc: z.number(),
});
/** A checkpoint, its base, or a write at it. */
const PartRow = z.object({
  kind: z.enum(["checkpoint", "base", "write"]),
  key: z.number(),
  id: z.string(),
  parent: z.string().nullable(),
  base: z.number().nullable(),
  ...DataColumns,
  crc: z.number().nullable(),
  run_id: z.string().nullable(),
  part: z.number().nullable(),
});

const newestId = "(SELECT max(id) FROM checkpoint_rows WHERE namespace = n.key) AS newest_id";
const nextItem = `coalesce((SELECT first + count FROM checkpoint_items
  WHERE thread = t.key ORDER BY first DESC LIMIT 1), 1) AS next_item`;
/** The thread $1 with its namespace $2, its run $3, and where its items end. */
const selectPlace = `SELECT t.key, clock_went_back, n.key AS namespace, ${newestId}, r.key AS run, ${nextItem}
  FROM checkpoint_threads AS t
  LEFT JOIN checkpoint_namespaces AS n ON n.thread = t.key AND n.ns = $2
  LEFT JOIN checkpoint_runs AS r ON r.thread = t.key AND r.run_id = $3
  WHERE thread_id = $1`;
const checkpointColumns =
  "c.key, c.id, c.parent, c.base, c.data AS text, NULL::bytea AS bytes, c.crc, run_id, NULL::int AS part";
/** A checkpoint that was written, with its base and what was written at it. `which`: the one that is wanted. */
const selectWhole = (which: string): string => `WITH l AS (
    SELECT * FROM checkpoint_rows WHERE data IS NOT NULL AND ${which}
  )
  SELECT 'checkpoint' AS kind, ${checkpointColumns} FROM l AS c LEFT JOIN checkpoint_runs AS r ON r.key = c.run
  UNION ALL SELECT 'base', ${checkpointColumns} FROM l JOIN checkpoint_rows AS c ON c.key = l.base
    LEFT JOIN checkpoint_runs AS r ON r.key = c.run
  UNION ALL SELECT 'write', l.key, w.task, w.path, NULL, w.text, w.bytes, w.crc, NULL, w.part
    FROM l JOIN checkpoint_writes AS w ON w.checkpoint = l.key`;
const selectWrites = "SELECT task, part, path, text, bytes, crc FROM checkpoint_writes WHERE checkpoint = $1";
const blobColumns = "key, text, bytes, crc";

/** Where a checkpointer is about to read and write: its first look brings all of that along. */
export interface Place {
  threadId: string;
  name: string;
  run: string | undefined;
  /** The run has no rows yet, so it is not looked for. */
  isNewRun?: boolean;
  /** Whether memory knows all of that, so that nothing has to be brought. */
  isKnown?: boolean;
}

/** Loads the rows of checkpoints for one piece of work, each once. Its readers throw `NotLoaded` for what is not there yet. */
export class Loader {
  readonly #database: PostgresDatabase;
  readonly #absent: AbsentThreads;
  readonly #place: Place | undefined;
  readonly #loaded = new Map<string, unknown>();
  readonly items: LoadedItems;

  /** `place`: what the work is about, which is loaded together. */
  constructor(database: PostgresDatabase, absent: AbsentThreads, place?: Place) {
    this.#database = database;
    this.#absent = absent;
    this.#place = place;
    this.items = new LoadedItems(database);
  }

  thread(threadId: string) {
    if (this.#absent.has(threadId)) return undefined;
    const load = async (): Promise<void> => {
      const place = this.#place?.threadId === threadId ? this.#place : { threadId, name: "", run: undefined };
      await this.#loadPlace(place);
    };
    return this.#known<{ key: number; clock_went_back: number }>(`thread ${threadId}`, load);
  }

  /**
   * Loads the place that the work writes to. A thread that has no rows is not looked for: where it has some by now, the
   * write cannot make it and fails.
   */
  async prefetch(): Promise<void> {
    if (this.#place === undefined) return;
    const { threadId } = this.#place;
    if (this.#absent.take(threadId)) this.#loaded.set(`thread ${threadId}`, undefined);
    else await this.#loadPlace(this.#place);
  }

  async #loadPlace({ threadId, name, run }: Place): Promise<void> {
    const [found] = await this.#database.read(selectPlace, [threadId, name, run ?? null]);
    const row = readRow(ThreadRow, "checkpoint_threads", found);
    this.#loaded.set(`thread ${threadId}`, row && { key: row.key, clock_went_back: row.clock_went_back });
    if (row === undefined) {
      this.#absent.see(threadId);
      return;
    }
    const { key, namespace, newest_id } = row;
    const known = namespace === null ? undefined : { key: namespace, newest_id: newest_id ?? "" };
    this.#loaded.set(`namespace ${key} ${name}`, known);
    if (run !== undefined) this.#loaded.set(`run ${key} ${run}`, row.run ?? undefined);
    this.#loaded.set(`next ${key}`, row.next_item);
  }

  /** The next item of a thread, as far as that was loaded. */
  loadedNext(thread: number): number | undefined {
    return this.#loaded.has(`next ${thread}`) ? this.nextItem(thread) : undefined;
  }

  namespace(thread: number, name: string) {
    const load = async (): Promise<{ key: number; newest_id: string } | undefined> => {
      const sql = `SELECT n.key, ${newestId} FROM checkpoint_namespaces AS n WHERE thread = $1 AND ns = $2`;
      const row = await this.#one(NamespaceRow, sql, [thread, name]);
      return row && { key: row.key, newest_id: row.newest_id ?? "" };
    };
    return this.#get(`namespace ${thread} ${name}`, load);
  }

  run(thread: number, runId: string): number | undefined {
    if (this.#place?.isNewRun === true && this.#place.run === runId) return undefined;
    const sql = "SELECT key FROM checkpoint_runs WHERE thread = $1 AND run_id = $2";
    return this.#get(`run ${thread} ${runId}`, async () => (await this.#one(Key, sql, [thread, runId]))?.key);
  }

  nextItem(thread: number): number {
    const sql = `SELECT ${nextItem.replace("next_item", "key")} FROM (SELECT $1::bigint AS key) AS t`;
    return this.#get(`next ${thread}`, async () => (await this.#one(Key, sql, [thread]))?.key) ?? 1;
  }

  latest(namespace: number, newest: CheckpointQuery["newest"]): number | undefined {
    const name = `latest ${namespace} ${newest}`;
    return this.#known<number>(name, async () => {
      const which = `namespace = $1 ORDER BY ${newest} DESC LIMIT 1`;
      this.#loaded.set(name, (await this.#loadWhole(which, [namespace]))?.key);
    });
  }

  checkpoint(namespace: number, id: string) {
    const name = `checkpoint ${namespace} ${id}`;
    return this.#known<z.infer<typeof FoundRow>>(name, async () => {
      const whole = await this.#loadWhole("namespace = $1 AND id = $2", [namespace, id]);
      const sql = "SELECT key, 0 AS is_written FROM checkpoint_rows WHERE namespace = $1 AND id = $2";
      const found = whole && { key: whole.key, is_written: 1 };
      this.#loaded.set(name, found ?? (await this.#one(FoundRow, sql, [namespace, id])));
    });
  }

  row(key: number): CheckpointRow | undefined {
    return this.#known<CheckpointRow>(`row ${key}`, async () => {
      const whole = await this.#loadWhole("key = $1", [key]);
      if (whole === undefined) this.#loaded.set(`row ${key}`, undefined);
    });
  }

  /** Loads a checkpoint with everything that one reads of it: its base, the writes at it, and values in rows of their own. */
  async #loadWhole(which: string, values: Values): Promise<{ key: number } | undefined> {
    const parts = readRows(PartRow, "checkpoint_rows", await this.#database.read(selectWhole(which), values));
    const blobs: number[] = [];
    for (const { kind, key, id, parent, base, text, crc, run_id } of parts) {
      if (kind === "write" || text === null) continue;
      const row = { id, parent: parent ?? undefined, base: base ?? undefined, data: text, crc: crc ?? 0 };
      this.#loaded.set(`row ${key}`, { ...row, run_id: run_id ?? undefined } satisfies CheckpointRow);
      blobs.push(...blobsIn(text));
    }
    const found = parts.find(({ kind }) => kind === "checkpoint");
    if (found === undefined) return undefined;
    const writes = parts.filter(({ kind }) => kind === "write");
    this.#loaded.set(
      `writes ${found.key}`,
      writes.map(({ id, parent, part, crc, ...data }) => {
        return { task: id, part: part ?? 0, path: parent ?? "", data: dataOf(data), crc: crc ?? 0 };
      }),
    );
    const missing = blobs.filter((key) => !this.#loaded.has(`blob ${key}`));
    if (missing.length > 0) await this.#loadBlobs(missing);
    return found;
  }

  checkpoints(thread: number, newest: CheckpointQuery["newest"]): ListedCheckpoint[] {
    const sql = `SELECT c.key, namespace, base, run FROM checkpoint_rows AS c
      JOIN checkpoint_namespaces AS n ON n.key = namespace
      WHERE thread = $1 AND data IS NOT NULL ORDER BY namespace, c.${newest} DESC`;
    return this.#get(`list ${thread}`, () => this.#all(ListedRow, sql, [thread])) ?? [];
  }

  search({ threadId, name, id, before, newest }: CheckpointQuery) {
    const writtenBefore = `c.key < (SELECT other.key FROM checkpoint_rows AS other
      WHERE other.namespace = c.namespace AND other.id = $4)`;
    const sql = `SELECT c.key, thread_id, ns FROM checkpoint_threads AS t
      JOIN checkpoint_namespaces AS n ON n.thread = t.key JOIN checkpoint_rows AS c ON c.namespace = n.key
      WHERE data IS NOT NULL AND ($1::text IS NULL OR thread_id = $1) AND ($2::text IS NULL OR ns = $2)
        AND ($3::text IS NULL OR c.id = $3) AND ($4::text IS NULL OR ${newest === "key" ? writtenBefore : "c.id < $4"})
      ORDER BY c.${newest} DESC`;
    const values = [threadId ?? null, name ?? null, id ?? null, before ?? null];
    return this.#get(`search ${JSON.stringify(values)}`, () => this.#all(SearchRow, sql, values)) ?? [];
  }

  blob(key: number): { data: StoredData; crc: number } | undefined {
    return this.#known<{ data: StoredData; crc: number }>(`blob ${key}`, () => this.#loadBlobs([key]));
  }

  async #loadBlobs(keys: readonly number[]): Promise<void> {
    for (const key of keys) this.#loaded.set(`blob ${key}`, undefined);
    const sql = `SELECT ${blobColumns} FROM checkpoint_blobs WHERE key = ANY($1::bigint[])`;
    for (const { key, crc, ...data } of await this.#all(BlobRow, sql, [keys])) {
      this.#loaded.set(`blob ${key}`, { data: dataOf(data), crc });
    }
  }

  blobs(thread: number): number[] {
    const sql = "SELECT key FROM checkpoint_blobs WHERE thread = $1";
    return this.#get(`blobs ${thread}`, async () => (await this.#all(Key, sql, [thread])).map(({ key }) => key)) ?? [];
  }

  writes(checkpoint: number, task?: string): WriteRow[] {
    const load = async (): Promise<WriteRow[]> => {
      const rows = await this.#all(StoredWrite, `${selectWrites} ORDER BY task, part`, [checkpoint]);
      return rows.map(({ text, bytes, ...row }) => ({ ...row, data: dataOf({ text, bytes }) }));
    };
    const rows = this.#get(`writes ${checkpoint}`, load) ?? [];
    return task === undefined ? rows : rows.filter((row) => row.task === task);
  }

  /** What was loaded under this name; `load` puts it there. */
  #known<Row>(name: string, load: () => Promise<void>): Row | undefined {
    if (!this.#loaded.has(name)) throw new NotLoaded(load);
    return this.#loaded.get(name) as Row | undefined; // a name says what kind of row it is of
  }

  #get<Row>(name: string, load: () => Promise<Row>): Row | undefined {
    return this.#known<Row>(name, async () => {
      this.#loaded.set(name, await load());
    });
  }

  async #one<Row>(schema: z.ZodType<Row>, sql: string, values: Values): Promise<Row | undefined> {
    const [row] = await this.#database.read(sql, values);
    return readRow(schema, "checkpoint_rows", row);
  }

  async #all<Row>(schema: z.ZodType<Row>, sql: string, values: Values): Promise<Row[]> {
    return readRows(schema, "checkpoint_rows", await this.#database.read(sql, values));
  }
}

/** The keys of values that a checkpoint's row keeps in rows of their own. */
function blobsIn(text: string): number[] {
  const json: unknown = JSON.parse(text);
  const values = typeof json === "object" && json !== null && "x" in json ? json.x : undefined;
  return Object.values(values ?? {}).flatMap((stored: unknown) =>
    Array.isArray(stored) && stored[0] === 1 ? [Number(stored[1])] : [],
  );
}
