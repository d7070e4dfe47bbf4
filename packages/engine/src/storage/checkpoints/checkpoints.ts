import {
  maxChannelVersion,
  TASKS,
  type ChannelVersions,
  type Checkpoint,
  type CheckpointMetadata,
  type CheckpointTuple,
} from "@langchain/langgraph-checkpoint";
import { isBaseMessage } from "../../message-kinds.ts";
import type { NamespaceState, ThreadState } from "./cache.ts";
import type { CheckpointStore, CheckpointIds } from "./checkpoint-store.ts";
import { ItemWriter } from "./item-writer.ts";
import { corruptThreadError } from "./items.ts";
import { readWrites } from "./pending-writes.ts";
import { type CheckpointBody, expand, type Snapshot, type StoredValue, type Version } from "./snapshot.ts";
import type { Reader } from "./codec.ts";

/** A namespace of a thread, which may have no rows yet. */
interface NamespaceLocation {
  store: CheckpointStore;
  state: ThreadState;
  name: string;
}

/** Values whose JSON is longer get a row of their own, so that later checkpoints can refer to it. */
const inlineLimit = 512;

function storeValue(
  store: CheckpointStore,
  state: ThreadState,
  writer: ItemWriter,
  value: unknown,
  old: StoredValue | undefined,
): StoredValue {
  if (Array.isArray(value) && value.length > 0 && !value.includes(undefined)) {
    const previous = old?.kind === "list" ? old : undefined;
    // Steps write long lists to which they have added nothing.
    if (previous?.live?.length === value.length && writer.isContinuation(value, previous)) return previous;
    const isList =
      previous !== undefined ||
      value.some((element) => typeof element === "object" && element !== null && isBaseMessage(element));
    const text = isList ? undefined : writer.encode(value);
    if (typeof text === "string" && text.length <= inlineLimit) return { kind: "text", text };
    const before = writer.weight;
    const { rewrites } = state.items;
    const ranges = writer.list(value, previous);
    return { kind: "list", ranges, live: [...value], weight: writer.weight - before, rewrites };
  }
  const data = writer.encode(value);
  if (typeof data === "string" && data.length <= inlineLimit) return { kind: "text", text: data };
  if (old?.kind === "blob" && typeof data === "string" && old.data === data) return old;
  return { kind: "blob", key: store.putBlob(state, data), data };
}

/** Whether some checkpoint of the namespace stored this channel at this version: a copy or fork then carries it on. */
function wasStored(
  store: CheckpointStore,
  state: ThreadState,
  namespace: NamespaceState,
  channel: string,
  version: Version,
): boolean {
  return store
    .list(state)
    .filter((row) => row.namespace === namespace.key)
    .some((row) => {
      const snapshot = store.load(state, row.key);
      return snapshot.versions.get(channel) === version && snapshot.values.has(channel);
    });
}

/** Writes one checkpoint in the caller's transaction. Only channels with a new version cost bytes. */
export function storeCheckpoint(
  at: NamespaceLocation,
  place: CheckpointIds,
  checkpoint: Checkpoint,
  metadata: CheckpointMetadata,
  newVersions: ChannelVersions,
): void {
  const { store, state, name } = at;
  const namespace = store.ensureNamespace(state, name);
  const parent = parentOf(store, state, namespace, place.parent);
  const writer = new ItemWriter(store.rows, state.items, { inline: "none", verify: true });
  const values = new Map<string, StoredValue>();
  for (const [channel, value] of Object.entries(checkpoint.channel_values ?? {})) {
    const version = checkpoint.channel_versions[channel];
    const old = parent?.values.get(channel);
    // A parent that is not ours (an older file, a pruned row) has nothing to carry on from: then everything is new.
    const complete = place.parent !== undefined && parent === undefined;
    if (!Object.hasOwn(newVersions, channel) && version !== undefined && !complete) {
      if (old !== undefined && parent?.versions.get(channel) === version) {
        values.set(channel, old);
        continue;
      }
      if (!wasStored(store, state, namespace, channel, version)) continue;
    }
    values.set(channel, storeValue(store, state, writer, value, old));
  }
  const described: Record<string, unknown> = { ...metadata };
  if (place.run !== undefined && described["run_id"] === place.run) delete described["run_id"];
  const encoded = writer.encode(described);
  const time = Date.parse(checkpoint.ts);
  const seen = Object.entries(checkpoint.versions_seen ?? {});
  const body: CheckpointBody = {
    version: checkpoint.v,
    time: Number.isFinite(time) && new Date(time).toISOString() === checkpoint.ts ? time : checkpoint.ts,
    // It is JSON in LangGraph's contract; bytes in it, which have no place in the row, become what JSON makes of them.
    metadata: typeof encoded === "string" ? encoded : JSON.stringify(described),
    versions: new Map(Object.entries(checkpoint.channel_versions ?? {})),
    seen: new Map(seen.map(([node, versions]) => [node, new Map(Object.entries(versions))])),
    values,
  };
  namespace.last = store.write(state, namespace, place, body, parent);
  writer.flush();
  store.cache.touch(state, name, namespace);
}

function parentOf(
  store: CheckpointStore,
  state: ThreadState,
  namespace: NamespaceState,
  id: string | undefined,
): Snapshot | undefined {
  if (id === undefined) return undefined;
  if (namespace.last?.id === id) return namespace.last;
  const key = store.find(namespace, id);
  return key === undefined ? undefined : store.load(state, key, namespace.last?.base);
}

/** The checkpoint asked for, from memory when it is the last one and still the last one on disk. */
export function findSnapshot({ store, state, name }: NamespaceLocation, id: string | undefined): Snapshot | undefined {
  const namespace = store.namespace(state, name);
  if (namespace === undefined) return undefined;
  const latest = store.latest(state, namespace);
  const wanted =
    id === undefined
      ? latest
      : id === namespace.last?.id && namespace.last.key === latest
        ? latest
        : store.find(namespace, id);
  if (wanted === undefined) return undefined;
  if (namespace.last?.key === wanted) return namespace.last;
  const snapshot = store.load(state, wanted, namespace.last?.base);
  if (wanted === latest) namespace.last = snapshot;
  return snapshot;
}

function valueOf(state: ThreadState, stored: StoredValue, reader: Reader, keep: boolean): unknown {
  if (stored.kind === "text") return reader.decoder.decode(stored.text);
  if (stored.kind === "blob") return reader.decoder.decode(stored.data);
  if (stored.live !== undefined) return [...stored.live];
  const items = reader.items(stored.ranges);
  const list = expand(stored.ranges).map((sequence) => items.get(sequence));
  if (keep) {
    stored.live = [...list];
    stored.weight = list.reduce<number>((sum, element) => {
      const isObject = typeof element === "object" && element !== null;
      return sum + (isObject ? (state.items.references.get(element)?.size ?? 16) : 16);
    }, 0);
  }
  return list;
}

/** A checkpoint's metadata, with the run that wrote it. */
export function toMetadata(snapshot: Snapshot, reader: Reader): CheckpointMetadata {
  const decoded = reader.decoder.decode(snapshot.metadata);
  const metadata = decoded as CheckpointMetadata; // `put` wrote it from one, under a checksum
  return snapshot.run === undefined ? metadata : Object.assign(metadata, { run_id: snapshot.run });
}

/** What LangGraph wants of a checkpoint. `keep` holds on to the objects of its lists for the next reader. */
export function toCheckpointTuple(
  at: NamespaceLocation,
  snapshot: Snapshot,
  reader: Reader,
  keep: boolean,
): CheckpointTuple {
  const { store, state, name } = at;
  const { threadId } = state.items;
  const place = { thread_id: threadId, checkpoint_ns: name };
  const checkpoint: Checkpoint = {
    v: snapshot.version,
    id: snapshot.id,
    ts: typeof snapshot.time === "number" ? new Date(snapshot.time).toISOString() : snapshot.time,
    channel_values: Object.fromEntries(
      Array.from(snapshot.values, ([channel, stored]) => [channel, valueOf(state, stored, reader, keep)]),
    ),
    channel_versions: Object.fromEntries(snapshot.versions),
    versions_seen: Object.fromEntries(Array.from(snapshot.seen, ([node, seen]) => [node, Object.fromEntries(seen)])),
  };
  if (snapshot.version < 4) addPendingSends(at, snapshot, checkpoint, reader);
  const hasNoWrites = store.rows.isOnlyWriter && snapshot.tasks?.size === 0;
  return {
    config: { configurable: { ...place, checkpoint_id: snapshot.id } },
    checkpoint,
    metadata: toMetadata(snapshot, reader),
    ...(snapshot.parent !== undefined && {
      parentConfig: { configurable: { ...place, checkpoint_id: snapshot.parent } },
    }),
    pendingWrites: hasNoWrites ? [] : readWrites(store, threadId, snapshot.key, reader),
  };
}

/** Checkpoints before format 4 kept the sends of a step with the writes of their parent. */
function addPendingSends(
  { store, state, name }: NamespaceLocation,
  snapshot: Snapshot,
  checkpoint: Checkpoint,
  reader: Reader,
): void {
  const namespace = store.namespace(state, name);
  if (namespace === undefined) throw corruptThreadError(state.items.threadId, "a namespace is missing");
  if (snapshot.parent === undefined) return;
  const parent = store.find(namespace, snapshot.parent);
  if (parent === undefined) return;
  const writes = readWrites(store, state.items.threadId, parent, reader);
  checkpoint.channel_values[TASKS] = writes.filter(([, channel]) => channel === TASKS).map(([, , value]) => value);
  const versions = Object.values(checkpoint.channel_versions);
  checkpoint.channel_versions[TASKS] = versions.length > 0 ? maxChannelVersion(...versions) : 1;
}
