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
