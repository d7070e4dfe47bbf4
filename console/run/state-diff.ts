import { jsonText } from "../text/json-text.ts";

/** A line of a diff; as those of files. */
export interface StateLine {
  kind: "same" | "removed" | "added";
  text: string;
  old_line: number | null;
  new_line: number | null;
}

/** What became of a channel between two states. */
export interface ChannelChange {
  name: string;
  kind: "same" | "added" | "changed" | "removed";
  value: unknown;
  /** Characters of the value as JSON. */
  size: number;
  /** How the JSON differs; empty where nothing is compared. */
  lines: StateLine[];
}

/** Lines before and after a change that are shown. */
const around = 2;
/** Lines that are compared; of longer values only the ends are searched for what is the same. */
const maxCompared = 2_000;

/** What differs between two states, by channel. Without a state before it all channels are `same`. */
export function changesOf(before: unknown, after: unknown): ChannelChange[] {
  const old = channelsOf(before);
  const now = channelsOf(after);
  const names = [...new Set([...now.keys(), ...old.keys()])];
  return names.map((name): ChannelChange => {
    const [from, to] = [textOf(old.get(name)), textOf(now.get(name))];
    const shown = { name, value: now.has(name) ? now.get(name) : old.get(name), size: (to ?? from ?? "").length };
    if (before === undefined || from === to) return { ...shown, kind: "same", lines: [] };
    if (from === undefined) return { ...shown, kind: "added", lines: [] };
    if (to === undefined) return { ...shown, kind: "removed", lines: [] };
    return { ...shown, kind: "changed", lines: diffOf(from.split("\n"), to.split("\n")) };
  });
}

function channelsOf(values: unknown): Map<string, unknown> {
  if (values === undefined || values === null) return new Map();
  if (typeof values !== "object" || Array.isArray(values)) return new Map([["value", values]]);
  return new Map(Object.entries(values));
}

function textOf(value: unknown): string | undefined {
  return value === undefined ? undefined : jsonText(value);
}

/** The lines that differ, with a few around them. */
export function diffOf(from: readonly string[], to: readonly string[]): StateLine[] {
  let start = 0;
  while (start < from.length && start < to.length && from[start] === to[start]) start += 1;
  let end = 0;
  while (end < from.length - start && end < to.length - start && from.at(-1 - end) === to.at(-1 - end)) end += 1;
  const lines: StateLine[] = [];
  const same = (old: number, now: number): void => {
    lines.push({ kind: "same", text: to[now] ?? "", old_line: old + 1, new_line: now + 1 });
  };
  for (let at = Math.max(0, start - around); at < start; at += 1) same(at, at);
  lines.push(...middleOf(from.slice(start, from.length - end), to.slice(start, to.length - end), start));
  const [oldEnd, newEnd] = [from.length - end, to.length - end];
  for (let at = 0; at < Math.min(end, around); at += 1) same(oldEnd + at, newEnd + at);
  return lines;
}

/** The part between the first and the last difference, by the longest common sequence where that is short enough. */
function middleOf(from: readonly string[], to: readonly string[], offset: number): StateLine[] {
  const removed = (at: number): StateLine => ({
    kind: "removed",
    text: from[at] ?? "",
    old_line: offset + at + 1,
    new_line: null,
  });
  const added = (at: number): StateLine => ({
    kind: "added",
    text: to[at] ?? "",
    old_line: null,
    new_line: offset + at + 1,
  });
  if (from.length * to.length > maxCompared * maxCompared) {
    return [...from.map((_, at) => removed(at)), ...to.map((_, at) => added(at))];
  }
  const width = to.length + 1;
  const lengths = new Uint32Array((from.length + 1) * width);
  for (let one = from.length - 1; one >= 0; one -= 1) {
    for (let other = to.length - 1; other >= 0; other -= 1) {
      lengths[one * width + other] =
        from[one] === to[other]
          ? (lengths[(one + 1) * width + other + 1] ?? 0) + 1
          : Math.max(lengths[(one + 1) * width + other] ?? 0, lengths[one * width + other + 1] ?? 0);
    }
  }
  const lines: StateLine[] = [];
  let [one, other] = [0, 0];
  while (one < from.length || other < to.length) {
    const isSame = one < from.length && other < to.length && from[one] === to[other];
    if (isSame) {
      lines.push({ kind: "same", text: to[other] ?? "", old_line: offset + one + 1, new_line: offset + other + 1 });
      one += 1;
      other += 1;
    } else if (
      other >= to.length ||
      (one < from.length && (lengths[(one + 1) * width + other] ?? 0) >= (lengths[one * width + other + 1] ?? 0))
    ) {
      lines.push(removed(one));
      one += 1;
    } else {
      lines.push(added(other));
      other += 1;
    }
  }
  return lines;
}
