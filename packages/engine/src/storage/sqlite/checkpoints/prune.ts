import type { ThreadState } from "../cache.ts";
import type { CheckpointStore } from "./checkpoint-store.ts";
import type { Snapshot } from "./snapshot.ts";

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
