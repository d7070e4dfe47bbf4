import { crc32 } from "node:zlib";
import {
  compareWritesSortKeys,
  WRITES_IDX_MAP,
  writesSortKey,
  type CheckpointPendingWrite,
  type PendingWrite,
} from "@langchain/langgraph-checkpoint";
import type { ThreadState } from "../cache.ts";
import { packId, unpackId, type CheckpointStore } from "./checkpoint-store.ts";
import { unframe } from "./decode.ts";
import { ItemWriter } from "./item-writer.ts";
import { corruptThread, verify } from "./items.ts";
import type { Reader } from "../events/event-batch.ts";

interface WriteRow {
  task: string | Buffer;
  part: number;
  path: string;
  data: string | Buffer;
  crc: number;
}

function storedIndexes(row: WriteRow): number[] {
  const json: unknown = JSON.parse(unframe(row.data).text);
  return Array.isArray(json) ? json.map((entry: unknown) => (Array.isArray(entry) ? Number(entry[0]) : NaN)) : [];
}

/** Keeps what a task wrote, in the caller's transaction. Ordinary writes are kept once, special ones are replaced. */
export function storeWrites(
  store: CheckpointStore,
  state: ThreadState,
  checkpoint: number,
  task: { id: string; path: string; run: string | undefined },
  writes: readonly PendingWrite[],
): void {
  const { database } = store;
  const special = writes.every(([channel]) => channel in WRITES_IDX_MAP);
  // One for each index: of special writes the last counts, of others the first (as upstream's SQL).
  const entries = new Map<number, readonly [index: number, channel: string, value: unknown]>();
  for (const [position, [channel, value]] of writes.entries()) {
    const index = WRITES_IDX_MAP[channel] ?? position;
    if (special || !entries.has(index)) entries.set(index, [index, channel, value]);
  }
  const taskId = packId(task.id);
  const rows = database
    .prepare<WriteRow>("SELECT task, part, path, data, crc FROM checkpoint_writes WHERE checkpoint = ? AND task = ?")
    .all(checkpoint, taskId);
  for (const row of rows) {
    const indexes = storedIndexes(row);
    if (!special) for (const index of indexes) entries.delete(index);
    else if (indexes.every((index) => entries.has(index))) {
      database
        .prepare("DELETE FROM checkpoint_writes WHERE checkpoint = ? AND task = ? AND part = ?")
        .run(checkpoint, taskId, row.part);
    }
  }
  if (entries.size === 0) return;
  const writer = new ItemWriter(database, state.items, { inline: "none", verify: true });
  const data = writer.encodeWrites([...entries.values()]);
  writer.flush();
  const run = task.run === undefined ? null : store.openRun(state, task.run);
  const part = (rows.at(-1)?.part ?? -1) + 1;
  database
    .prepare(
      "INSERT INTO checkpoint_writes (checkpoint, task, part, path, run, data, crc) VALUES (?, ?, ?, ?, ?, ?, ?)",
    )
    .run(checkpoint, taskId, part, task.path, run, data, crc32(data));
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
  const rows = store.database
    .prepare<WriteRow>("SELECT task, part, path, data, crc FROM checkpoint_writes WHERE checkpoint = ?")
    .all(checkpoint);
  if (rows.length === 0) return [];
  const found = new Map<string, { key: ReturnType<typeof writesSortKey>; write: CheckpointPendingWrite }>();
  for (const row of rows) {
    verify(row.data, row.crc, threadId, "writes");
    const task = unpackId(row.task);
    const entries = reader.decoder.decode(row.data);
    if (!Array.isArray(entries)) throw corruptThread(threadId, "a write is not a list");
    for (const [index, channel, value] of entries) {
      const at = Number(index);
      found.set(`${task} ${at}`, { key: writesSortKey(row.path, task, at), write: [task, String(channel), value] });
    }
  }
  return [...found.values()]
    .sort((left, right) => compareWritesSortKeys(left.key, right.key))
    .map(({ write }) => write);
}
