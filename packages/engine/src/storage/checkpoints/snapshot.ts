/** A channel's or a checkpoint's version, as LangGraph counts it. */
export type Version = number | string;

/**
 * How a channel's value is stored: as JSON in the row, as a row of its own, or (lists) as sequences of items. `live`
 * holds the objects of a list while they are in memory; callers get copies of that array. `weight` is about how many
 * characters those objects take. `rewrites`: what the thread had counted when each of them was where `ranges` says.
 */
export type StoredValue =
  | { kind: "text"; text: string }
  | { kind: "blob"; key: number; data: string | Buffer }
  | StoredList;

/** A list, by the places of its elements. */
export interface StoredList {
  kind: "list";
  ranges: Ranges;
  live: readonly unknown[] | undefined;
  weight: number;
  rewrites?: number;
}

/** What one checkpoint says. `metadata` is JSON. */
export interface CheckpointBody {
  version: number;
  time: number | string;
  metadata: string;
  versions: Map<string, Version>;
  seen: Map<string, Map<string, Version>>;
  values: Map<string, StoredValue>;
}

/** A row of what a task wrote: its part and the places of the writes in it. */
export interface WrittenPart {
  part: number;
  indexes: number[];
}

/**
 * A stored checkpoint. Most rows hold only what differs from their `base`, a complete row some steps earlier, so that a
 * step costs what it changed and reading one never takes more than two rows.
 */
export interface Snapshot extends CheckpointBody {
  key: number;
  id: string;
  parent: string | undefined;
  run: string | undefined;
  base: Snapshot | undefined;
  /** Characters of the row. */
  size: number;
  /** On a base: characters of the rows that refer to it. */
  diffSize: number;
  /** What tasks have written at it, by task, where all of it is known. */
  tasks?: Map<string, WrittenPart[]> | undefined;
}

const text = JSON.stringify;

function member(key: string, json: string): string {
  return `${text(key)}:${json}`;
}

function storedText(stored: StoredValue, base: StoredValue | undefined): string {
  switch (stored.kind) {
    case "text":
      return `[0,${stored.text}]`;
    case "blob":
      return `[1,${stored.key}]`;
    case "list": {
      const shared = base?.kind === "list" ? commonPrefix(base.ranges, stored.ranges) : 0;
      return text([2, shared, ...slice(stored.ranges, shared)]);
    }
  }
}

function sameStored(left: StoredValue, right: StoredValue | undefined): boolean {
  if (left === right) return true;
  if (right === undefined) return false;
  if (left.kind === "text") return right.kind === "text" && left.text === right.text;
  if (left.kind === "blob") return right.kind === "blob" && left.key === right.key;
  return (
    right.kind === "list" &&
    left.ranges.length === right.ranges.length &&
    left.ranges.every((number, index) => number === right.ranges[index])
  );
}

function versionMembers(
  versions: ReadonlyMap<string, Version>,
  base: ReadonlyMap<string, Version> | undefined,
): string[] {
  const members: string[] = [];
  for (const [channel, version] of versions) {
    if (base?.get(channel) !== version) members.push(member(channel, text(version)));
  }
  return members;
}

function hasAllKeys(base: ReadonlyMap<string, unknown>, keys: ReadonlyMap<string, unknown>): boolean {
  for (const key of base.keys()) if (!keys.has(key)) return false;
  return true;
}

/** What nodes have seen, where it differs from the base; `undefined` when the base knows more. */
function seenMembers(body: CheckpointBody, base: CheckpointBody | undefined): string[] | undefined {
  const members: string[] = [];
  for (const [node, channels] of body.seen) {
    const before = base?.seen.get(node);
    if (before !== undefined && !hasAllKeys(before, channels)) return undefined;
    const changed = versionMembers(channels, before);
    if (changed.length > 0 || before === undefined) members.push(member(node, `{${changed.join(",")}}`));
  }
  return members;
}

/**
 * The row of a checkpoint: complete, or what differs from `base`; `undefined` when it cannot be written as a difference
 * (a version of the base is gone).
 */
export function toRowText(body: CheckpointBody, base: CheckpointBody | undefined): string | undefined {
  if (base !== undefined && !(hasAllKeys(base.versions, body.versions) && hasAllKeys(base.seen, body.seen)))
    return undefined;
  const seen = seenMembers(body, base);
  if (seen === undefined) return undefined;
  const parts: string[] = [];
  if (body.version !== (base?.version ?? 4)) parts.push(member("v", text(body.version)));
  parts.push(member("t", text(body.time)));
  if (body.metadata !== base?.metadata) parts.push(member("m", body.metadata));
  const values: string[] = [];
  for (const [channel, stored] of body.values) {
    const before = base?.values.get(channel);
    if (!sameStored(stored, before)) values.push(member(channel, storedText(stored, before)));
  }
  const changed: [key: string, members: readonly string[]][] = [
    ["c", versionMembers(body.versions, base?.versions)],
    ["s", seen],
    ["x", values],
  ];
  for (const [key, members] of changed) if (members.length > 0) parts.push(member(key, `{${members.join(",")}}`));
  const removed = [...(base?.values.keys() ?? [])].filter((channel) => !body.values.has(channel));
  if (removed.length > 0) parts.push(member("d", text(removed)));
  return `{${parts.join(",")}}`;
}

/** About how many characters a snapshot keeps in memory. */
export function weightOf(snapshot: Snapshot): number {
  let weight = snapshot.size + (snapshot.base?.size ?? 0);
  for (const stored of snapshot.values.values()) {
    if (stored.kind === "list") weight += stored.live === undefined ? 0 : stored.weight + 16 * stored.live.length;
    else if (stored.kind === "blob") weight += stored.data.length;
  }
  return weight;
}

/** A snapshot to compare with: the same without live objects, which would be kept in memory for nothing. */
export function asBase(snapshot: Snapshot): Snapshot {
  const values = new Map<string, StoredValue>();
  for (const [channel, stored] of snapshot.values) {
    values.set(channel, stored.kind === "list" ? { ...stored, live: undefined } : stored);
  }
  return { ...snapshot, values };
}

function entriesOf(value: unknown): [string, unknown][] {
  return typeof value === "object" && value !== null ? Object.entries(value) : [];
}

function isVersion(value: unknown): value is Version {
  return typeof value === "number" || typeof value === "string";
}

function readVersions(value: unknown, base: ReadonlyMap<string, Version> | undefined): Map<string, Version> {
  const versions = new Map(base);
  for (const [channel, version] of entriesOf(value)) if (isVersion(version)) versions.set(channel, version);
  return versions;
}

function readStored(
  value: unknown,
  base: StoredValue | undefined,
  blob: (key: number) => string | Buffer,
): StoredValue {
  const parts: unknown[] = Array.isArray(value) ? value : [];
  if (parts[0] === 0) return { kind: "text", text: text(parts[1]) };
  if (parts[0] === 1) return { kind: "blob", key: Number(parts[1]), data: blob(Number(parts[1])) };
  const prefix = base?.kind === "list" ? slice(base.ranges, 0, Number(parts[1])) : [];
  return { kind: "list", ranges: concat(prefix, parts.slice(2).map(Number)), live: undefined, weight: 0 };
}

/** A row read back; `blob` fetches the rows of large values. The reverse of `rowText`. */
export function fromRowText(
  data: string,
  base: CheckpointBody | undefined,
  blob: (key: number) => string | Buffer,
): CheckpointBody {
  const row = new Map(entriesOf(JSON.parse(data)));
  const seen = new Map(base?.seen);
  for (const [node, channels] of entriesOf(row.get("s"))) seen.set(node, readVersions(channels, seen.get(node)));
  const values = new Map(base?.values);
  for (const [channel, value] of entriesOf(row.get("x")))
    values.set(channel, readStored(value, values.get(channel), blob));
  for (const [, channel] of entriesOf(row.get("d"))) values.delete(String(channel));
  const version = row.get("v");
  const time = row.get("t");
  return {
    version: typeof version === "number" ? version : (base?.version ?? 4),
    time: typeof time === "number" ? time : String(time),
    metadata: row.has("m") ? text(row.get("m")) : (base?.metadata ?? "{}"),
    versions: readVersions(row.get("c"), base?.versions),
    seen,
    values,
  };
}

/** Sequences as flat pairs of first and count: `[1, 5000, 5007, 1]` means 1 to 5000, then 5007. Order matters. */
export type Ranges = number[];

/** Adds one sequence at the end. */
export function append(ranges: Ranges, sequence: number): void {
  const first = ranges.at(-2);
  const count = ranges.at(-1);
  if (first !== undefined && count !== undefined && first + count === sequence) ranges[ranges.length - 1] = count + 1;
  else ranges.push(sequence, 1);
}

/** Every sequence, one by one. */
export function expand(ranges: Ranges): number[] {
  const sequences: number[] = [];
  for (let index = 0; index < ranges.length; index += 2) {
    const first = ranges[index] ?? 0;
    const end = first + (ranges[index + 1] ?? 0);
    for (let sequence = first; sequence < end; sequence += 1) sequences.push(sequence);
  }
  return sequences;
}

/** How many sequences at the start are the same in both. */
export function commonPrefix(left: Ranges, right: Ranges): number {
  let same = 0;
  for (let index = 0; index < left.length && index < right.length; index += 2) {
    if (left[index] !== right[index]) return same;
    const count = left[index + 1] ?? 0;
    const other = right[index + 1] ?? 0;
    same += Math.min(count, other);
    if (count !== other) return same;
  }
  return same;
}

/** The sequences from position `start` up to position `end`. */
export function slice(ranges: Ranges, start: number, end = Infinity): Ranges {
  const part: Ranges = [];
  let position = 0;
  for (let index = 0; index < ranges.length; index += 2) {
    const first = ranges[index] ?? 0;
    const count = ranges[index + 1] ?? 0;
    const from = Math.max(start - position, 0);
    const to = Math.min(end - position, count);
    if (to > from) part.push(first + from, to - from);
    position += count;
  }
  return part;
}

/** `left` and then `right`, joined where they touch. */
export function concat(left: Ranges, right: Ranges): Ranges {
  const joined = [...left];
  for (let index = 0; index < right.length; index += 2) {
    const first = right[index] ?? 0;
    const count = right[index + 1] ?? 0;
    const last = joined.length - 2;
    const lastFirst = joined[last];
    const lastCount = joined[last + 1];
    if (lastFirst !== undefined && lastCount !== undefined && lastFirst + lastCount === first) {
      joined[last + 1] = lastCount + count;
    } else joined.push(first, count);
  }
  return joined;
}
