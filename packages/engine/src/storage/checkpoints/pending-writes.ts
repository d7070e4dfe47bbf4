import { crc32 } from "node:zlib";
import {
  compareWritesSortKeys,
  WRITES_IDX_MAP,
  writesSortKey,
  type CheckpointPendingWrite,
  type PendingWrite,
} from "@langchain/langgraph-checkpoint";
import type { NamespaceState, ThreadState } from "./cache.ts";
import type { CheckpointStore } from "./checkpoint-store.ts";
import type { WriteRow } from "./rows.ts";
import type { WrittenPart } from "./snapshot.ts";
import { unframe } from "./decode.ts";
import { ItemWriter } from "./item-writer.ts";
import { corruptThreadError, verifyChecksum } from "./items.ts";
import type { Reader } from "./codec.ts";

function storedIndexes(row: WriteRow): number[] {
  const json: unknown = JSON.parse(unframe(row.data).text);
  return Array.isArray(json) ? json.map((entry: unknown) => (Array.isArray(entry) ? Number(entry[0]) : NaN)) : [];
}

/** Keeps what a task wrote, in the caller's transaction. Ordinary writes are kept once, special ones are replaced. */
export function storeWrites(
  store: CheckpointStore,
  { state, namespace, checkpoint }: { state: ThreadState; namespace: NamespaceState; checkpoint: number },
  task: { id: string; path: string; run: string | undefined },
  writes: readonly PendingWrite[],
): void {
  const { rows } = store;
  const special = writes.every(([channel]) => channel in WRITES_IDX_MAP);
  // One for each index: of special writes the last counts, of others the first (as upstream's SQL).
  const entries = new Map<number, readonly [index: number, channel: string, value: unknown]>();
  for (const [position, [channel, value]] of writes.entries()) {
    const index = WRITES_IDX_MAP[channel] ?? position;
    if (special || !entries.has(index)) entries.set(index, [index, channel, value]);
  }
  const known = namespace.last?.key === checkpoint ? namespace.last.tasks : undefined;
  const before: WrittenPart[] =
    known === undefined
      ? rows.listWrites(checkpoint, task.id).map((row) => ({ part: row.part, indexes: storedIndexes(row) }))
      : (known.get(task.id) ?? []);
  const part = (before.at(-1)?.part ?? -1) + 1;
  const replaced = special ? before.filter(({ indexes }) => indexes.every((index) => entries.has(index))) : [];
  for (const old of replaced) rows.deleteWrite(checkpoint, task.id, old.part);
  if (!special) for (const index of before.flatMap(({ indexes }) => indexes)) entries.delete(index);
  if (entries.size === 0) return;
  const writer = new ItemWriter(rows, state.items, { inline: "none", verify: true });
  const data = writer.encodeWrites([...entries.values()]);
  writer.flush();
  const run = task.run === undefined ? undefined : store.ensureRun(state, task.run);
  rows.insertWrite(checkpoint, run, { task: task.id, part, path: task.path, data, crc: crc32(data) });
  const kept = before.filter((old) => !replaced.includes(old));
  known?.set(task.id, [...kept, { part, indexes: [...entries.keys()] }]);
}

/**
 * What tasks wrote at a checkpoint, in the order in which live execution applies it: task path, task id, index. Any
 * other order rebuilds a wrong state after parallel steps.
 */
export function readWrites(
  store: CheckpointStore,
  threadId: string,
  checkpoint: number,
  reader: Reader,
): CheckpointPendingWrite[] {
  const rows = store.rows.listWrites(checkpoint);
  if (rows.length === 0) return [];
  const found = new Map<string, { key: ReturnType<typeof writesSortKey>; write: CheckpointPendingWrite }>();
  for (const row of rows) {
    verifyChecksum(row.data, row.crc, threadId, "writes");
    const { task } = row;
    const entries = reader.decoder.decode(row.data);
    if (!Array.isArray(entries)) throw corruptThreadError(threadId, "a write is not a list");
    for (const [index, channel, value] of entries) {
      const at = Number(index);
      found.set(`${task} ${at}`, { key: writesSortKey(row.path, task, at), write: [task, String(channel), value] });
    }
  }
  return [...found.values()]
    .sort((left, right) => compareWritesSortKeys(left.key, right.key))
    .map(({ write }) => write);
}
