import { isDeepStrictEqual } from "node:util";
import type { RunnableConfig } from "@langchain/core/runnables";
import type { CheckpointListOptions, CheckpointTuple } from "@langchain/langgraph-checkpoint";
import { AppError } from "../../errors/errors.ts";
import type { CheckpointStore } from "./checkpoint-store.ts";
import { toMetadata, toCheckpointTuple } from "./checkpoints.ts";
import { Reader } from "./codec.ts";
import type { ThreadState } from "./cache.ts";
import type { Snapshot } from "./snapshot.ts";

/** The part of a config as text; `undefined` where it restricts nothing. */
function textOf(what: string, value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === "string" || typeof value === "number") return String(value);
  throw new AppError("invalid_parameter", `A listing of checkpoints wants text for "${what}", got ${typeof value}.`);
}

/** The rows a listing may show, newest first. Keys only: rows are read one by one, since readers may stop early. */
function findRows(store: CheckpointStore, config: RunnableConfig, before: unknown) {
  const { configurable = {} } = config;
  const threadId = textOf("thread_id", configurable["thread_id"]);
  const id = textOf("checkpoint_id", configurable["checkpoint_id"]);
  const state = threadId === undefined ? undefined : store.thread(threadId);
  return store.rows.searchCheckpoints({
    threadId,
    name: textOf("checkpoint_ns", configurable["checkpoint_ns"]),
    id: id === "" ? undefined : id,
    before: textOf("before", before),
    newest: state?.newestBy ?? "id",
  });
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
  const rows = await store.rows.read(() => findRows(store, config, before?.configurable?.["checkpoint_id"]));
  let reader: Reader | undefined;
  let readerOf: string | undefined;
  for (const row of rows) {
    const state = await store.rows.read(() => store.thread(row.thread_id));
    if (state === undefined) continue;
    if (reader === undefined || readerOf !== row.thread_id) {
      reader = new Reader(store.rows, row.thread_id, state.items);
      readerOf = row.thread_id;
    }
    const current = reader;
    const tuple = await current.build(() => {
      const snapshot = store.load(state, row.key);
      if (!matches(toMetadata(snapshot, current), filter)) return undefined;
      return toCheckpointTuple({ store, state, name: row.ns }, snapshot, current, false);
    });
    if (tuple !== undefined) yield tuple;
  }
}

/** Removes checkpoints by key, with their writes, and values nothing refers to any more. In the caller's transaction. */
function removeCheckpoints(store: CheckpointStore, state: ThreadState, doomed: ReadonlySet<number>): void {
  if (doomed.size === 0) return;
  store.completeDiffsFrom(state, doomed);
  for (const key of doomed) store.rows.deleteCheckpoint(key);
  removeBlobs(store, state);
}

function removeBlobs(store: CheckpointStore, state: ThreadState): void {
  const blobs = store.rows.listBlobs(state.items.key);
  if (blobs.length === 0) return;
  const used = new Set<number>();
  for (const { key } of store.list(state)) {
    for (const stored of store.load(state, key).values.values()) if (stored.kind === "blob") used.add(stored.key);
  }
  for (const key of blobs) if (!used.has(key)) store.rows.deleteBlob(key);
}

/** Removes what one run left in a thread: its checkpoints and what it wrote at earlier ones. */
export function removeRun(store: CheckpointStore, state: ThreadState, runId: string): void {
  const run = store.rows.findRun(state.items.key, runId);
  if (run === undefined) return;
  const rows = store.list(state);
  for (const { key } of rows) store.rows.deleteWritesOfRun(key, run);
  removeCheckpoints(store, state, new Set(rows.filter((row) => row.run === run).map((row) => row.key)));
  store.rows.deleteRun(run);
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
  const byNamespace = Map.groupBy(store.list(state), (row) => row.namespace);
  const doomed = new Set<number>();
  for (const rows of byNamespace.values()) {
    const oldest = rows[Math.min(keepLatest, rows.length) - 1];
    if (oldest === undefined) continue;
    const keep = keepLatest + neededAncestors(store.load(state, oldest.key));
    for (const { key } of rows.slice(keep)) doomed.add(key);
  }
  removeCheckpoints(store, state, doomed);
}
