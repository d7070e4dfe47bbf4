import pg from "pg";
import { z } from "zod";
import { unlessAborted } from "../../../concurrency/abort.ts";
import { parseRow, readRows } from "../../rows.ts";
import type { RebuiltIndex } from "../../storage.ts";
import { toStorageError } from "./errors.ts";
import { endClient } from "./listener.ts";

/**
 * The tables that grow with every run. None of them may be written with ON CONFLICT, which can fail while a unique index is
 * rebuilt concurrently.
 */
export const rebuiltTables = [
  "runs",
  "run_events",
  "checkpoint_threads",
  "checkpoint_namespaces",
  "checkpoint_runs",
  "checkpoint_rows",
  "checkpoint_writes",
  "checkpoint_blobs",
  "checkpoint_items",
];

/** An index is sparse when it is this many times as large as its entries would need, and at least so many bytes. */
const [sparseFactor, minBytes] = [2, 4_194_304];
/** The share of a page that PostgreSQL fills when it builds an index, and the bytes of an entry beside its values. */
const [pageFill, entryBytes] = [0.9, 12];

const Busy = z.object({ is_busy: z.boolean() });
const Name = z.object({ name: z.string() });
const Index = z.object({ name: z.string(), bytes: z.number() });

/** Another rebuild leaves an index that is not valid yet; one that waits for an old transaction would keep vacuum waiting. */
const busy = `SELECT EXISTS (SELECT FROM pg_stat_progress_create_index WHERE datname = current_database())
  OR EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend'
    AND pid <> pg_backend_pid() AND xact_start < clock_timestamp() - interval '1 minute') AS is_busy`;

const ofTables = `FROM pg_index JOIN pg_class AS i ON i.oid = indexrelid JOIN pg_class AS t ON t.oid = indrelid
  WHERE t.relnamespace = current_schema()::regnamespace AND t.relname = ANY($1) AND pg_has_role(t.relowner, 'USAGE')`;
const name = "format('%I.%I', current_schema(), i.relname) AS name";

/** What a rebuild leaves that PostgreSQL has ended. */
const leftOver = `SELECT ${name} ${ofTables} AND NOT indisvalid AND i.relname ~ '_cc(new|old)[0-9]*$'`;

/** By the number of entries and the width of their columns, as the last vacuum has found them. */
const sparse = `SELECT ${name}, pg_relation_size(i.oid)::float8 AS bytes ${ofTables}
  AND indisvalid AND i.reltuples >= 0 AND pg_relation_size(i.oid) >= $2 AND pg_relation_size(i.oid) > (
    SELECT ${sparseFactor / pageFill} * i.reltuples * (${entryBytes} + 8 * ceil(sum(avg_width) / 8.0)) FROM pg_stats
    WHERE schemaname = current_schema() AND tablename = t.relname
      AND attname IN (SELECT attname FROM pg_attribute WHERE attrelid = t.oid AND attnum = ANY (indkey::int2[]))
  ) ORDER BY 2 DESC`;

/**
 * Indexes of keys that only grow. What retention deletes leaves their pages half empty, and PostgreSQL fills none of them again:
 * new keys go to new pages.
 */
export class SparseIndexes {
  readonly #url: string;
  readonly #place: string;
  /** Bytes that a rebuild has left. */
  readonly #left = new Map<string, number>();

  /** `url`: the address of PostgreSQL; `place`: what messages call it. Connects when indexes are rebuilt. */
  constructor(url: string, place: string) {
    this.#url = url;
    this.#place = place;
  }

  /**
   * Rebuilds the sparse indexes one after the other; reads and writes go on. Does nothing while another rebuild or an old
   * transaction is in progress. When the signal aborts, PostgreSQL finishes by itself the index that it works on.
   */
  async rebuild(signal: AbortSignal, from = minBytes): Promise<readonly RebuiltIndex[]> {
    const client = new pg.Client({
      connectionString: this.#url,
      connectionTimeoutMillis: 3_000,
      keepAlive: true,
      application_name: "millrace",
    });
    // Without a listener an error of the connection would end the process; it fails the statement, too.
    client.on("error", () => undefined);
    const work = client.connect().then(() => this.#rebuildAll(client, signal, from));
    try {
      return await unlessAborted(work, signal);
    } catch (error) {
      if (signal.aborted) return [];
      throw toStorageError(error, this.#place);
    } finally {
      await endClient(client);
    }
  }

  async #rebuildAll(client: pg.Client, signal: AbortSignal, from: number): Promise<RebuiltIndex[]> {
    const rebuilt: RebuiltIndex[] = [];
    if (await isBusy(client)) return rebuilt;
    const ended = await client.query(leftOver, [rebuiltTables]);
    for (const index of readRows(Name, "pg_index", ended.rows)) {
      await client.query(`DROP INDEX CONCURRENTLY IF EXISTS ${index.name}`);
    }
    const found = await client.query(sparse, [rebuiltTables, from]);
    for (const index of readRows(Index, "pg_index", found.rows)) {
      // One that a rebuild does not make smaller is left alone until it has grown.
      if (index.bytes <= sparseFactor * (this.#left.get(index.name) ?? 0)) continue;
      if (signal.aborted || (await isBusy(client))) break;
      await client.query(`REINDEX INDEX CONCURRENTLY ${index.name}`);
      const size = await client.query("SELECT pg_relation_size($1::regclass)::float8 AS bytes, $1 AS name", [
        index.name,
      ]);
      const { bytes } = parseRow(Index, "pg_class", size.rows[0]);
      this.#left.set(index.name, bytes);
      rebuilt.push({ ...index, rebuilt: bytes });
    }
    return rebuilt;
  }
}

async function isBusy(client: pg.Client): Promise<boolean> {
  return parseRow(Busy, "pg_stat_activity", (await client.query(busy)).rows[0]).is_busy;
}
