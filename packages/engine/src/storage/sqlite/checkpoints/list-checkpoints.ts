import { isDeepStrictEqual } from "node:util";
import type { RunnableConfig } from "@langchain/core/runnables";
import type { CheckpointListOptions, CheckpointTuple } from "@langchain/langgraph-checkpoint";
import { AppError } from "../../../errors/errors.ts";
import { type CheckpointStore, packId } from "./checkpoint-store.ts";
import { metadataOf, tupleOf } from "./checkpoints.ts";
import { Reader } from "../events/event-batch.ts";
import type { ThreadState } from "../cache.ts";
import type { Snapshot } from "./snapshot.ts";

interface FoundRow {
  key: number;
  thread_id: string;
  ns: string;
}

/** Of a thread in which ids are not in the order of its states. */
const writtenBefore = `checkpoint_rows.key < (SELECT other.key FROM checkpoint_rows AS other
  WHERE other.namespace = checkpoint_rows.namespace AND other.id = ?)`;

/** The rows a listing may show, newest first. Keys only: rows are read one by one, since readers may stop early. */
function findRows(store: CheckpointStore, config: RunnableConfig, before: unknown): FoundRow[] {
  const conditions = ["data IS NOT NULL"];
  const values: unknown[] = [];
  const { thread_id: threadId, checkpoint_ns: name, checkpoint_id: id } = config.configurable ?? {};
  const clockWentBack = typeof threadId === "string" && store.thread(threadId)?.clockWentBack === true;
  const restrict = (condition: string, value: unknown, pack: (text: string) => unknown = String): void => {
    if (value === undefined || value === null) return;
    if (typeof value !== "string" && typeof value !== "number") {
      throw new AppError(
        "invalid_parameter",
        `A listing of checkpoints wants text for "${condition}", got ${typeof value}.`,
      );
    }
    conditions.push(condition);
    values.push(pack(String(value)));
  };
  restrict("thread_id = ?", threadId);
  restrict("ns = ?", name);
  restrict("id = ?", id === "" ? undefined : id, packId);
  restrict(clockWentBack ? writtenBefore : "id < ?", before, packId);
  return store.database
    .prepare<FoundRow>(
      `SELECT checkpoint_rows.key, thread_id, ns FROM checkpoint_threads
       JOIN checkpoint_namespaces ON thread = checkpoint_threads.key
       JOIN checkpoint_rows ON namespace = checkpoint_namespaces.key
       WHERE ${conditions.join(" AND ")} ORDER BY ${clockWentBack ? "checkpoint_rows.key" : "id"} DESC`,
    )
    .all(...values);
}

function matches(metadata: object, filter: Record<string, unknown>): boolean {
  const fields = new Map<string, unknown>(Object.entries(metadata));
  return Object.entries(filter).every(
    ([key, value]) => value === undefined || isDeepStrictEqual(fields.get(key), value),
  );
}

/** The checkpoints of a thread (or of all), newest first. Messages that several of them show are the same objects. */
export async function* listCheckpoints(
  store: CheckpointStore,
  config: RunnableConfig,
  options: CheckpointListOptions,
): AsyncGenerator<CheckpointTuple> {
  const { filter = {}, before } = options;
  const rows = store.database.read(() => findRows(store, config, before?.configurable?.["checkpoint_id"]));
  let reader: Reader | undefined;
  let readerOf: string | undefined;
  for (const row of rows) {
    const state = store.database.read(() => store.thread(row.thread_id));
    if (state === undefined) continue;
    if (reader === undefined || readerOf !== row.thread_id) {
      reader = new Reader(store.database, row.thread_id, state.items);
      readerOf = row.thread_id;
    }
    const current = reader;
    const tuple = await current.build(() => {
      const snapshot = store.load(state, row.key);
      if (!matches(metadataOf(snapshot, current), filter)) return undefined;
      return tupleOf({ store, state, name: row.ns }, snapshot, current, false);
    });
    if (tuple !== undefined) yield tuple;
  }
}

/** Removes checkpoints by key, with their writes, and values nothing refers to any more. In the caller's transaction. */
function removeCheckpoints(store: CheckpointStore, state: ThreadState, doomed: ReadonlySet<number>): void {
  if (doomed.size === 0) return;
  store.detach(state, doomed);
  const remove = store.database.prepare("DELETE FROM checkpoint_rows WHERE key = ?");
  for (const key of doomed) remove.run(key);
  removeBlobs(store, state);
}

function removeBlobs(store: CheckpointStore, state: ThreadState): void {
  const blobs = store.database
    .prepare<{ key: number }>("SELECT key FROM checkpoint_blobs WHERE thread = ?")
    .all(state.items.key);
  if (blobs.length === 0) return;
  const used = new Set<number>();
  for (const { key } of store.rows(state)) {
    for (const stored of store.load(state, key).values.values()) if (stored.kind === "blob") used.add(stored.key);
  }
  const remove = store.database.prepare("DELETE FROM checkpoint_blobs WHERE key = ?");
  for (const { key } of blobs) if (!used.has(key)) remove.run(key);
}

/** Removes what one run left in a thread: its checkpoints and what it wrote at earlier ones. */
export function removeRun(store: CheckpointStore, state: ThreadState, runId: string): void {
  const run = store.run(state, runId);
  if (run === undefined) return;
  const { database } = store;
  const rows = store.rows(state);
  for (const { key } of rows) {
    database.prepare("DELETE FROM checkpoint_writes WHERE checkpoint = ? AND run = ?").run(key, run);
  }
  removeCheckpoints(store, state, new Set(rows.filter((row) => row.run === run).map((row) => row.key)));
  database.prepare("DELETE FROM checkpoint_runs WHERE key = ?").run(run);
}

/**
 * How many ancestors a checkpoint needs because something is rebuilt from their writes: before format 4 what a step has
 * sent, and what is in a DeltaChannel.
 */
function neededAncestors({ metadata, version }: Pick<Snapshot, "metadata" | "version">): number {
  const json: unknown = JSON.parse(metadata);
  const isObject = typeof json === "object" && json !== null;
  const counters = isObject && "counters_since_delta_snapshot" in json ? json.counters_since_delta_snapshot : {};
  const steps = Object.values(counters ?? {}).map((pair: unknown) => (Array.isArray(pair) ? Number(pair[1]) : 0));
  const sends = version < 4 ? 1 : 0;
  return steps.length === 0 ? sends : Math.max(...steps) + 1;
}

/** Removes all but the newest checkpoints of each namespace, and the ancestors those are rebuilt from. */
export function pruneThread(store: CheckpointStore, state: ThreadState, keepLatest: number): void {
  const byNamespace = Map.groupBy(store.rows(state), (row) => row.namespace);
  const doomed = new Set<number>();
  for (const rows of byNamespace.values()) {
    const oldest = rows[Math.min(keepLatest, rows.length) - 1];
    if (oldest === undefined) continue;
    const keep = keepLatest + neededAncestors(store.load(state, oldest.key));
    for (const { key } of rows.slice(keep)) doomed.add(key);
  }
  removeCheckpoints(store, state, doomed);
}
