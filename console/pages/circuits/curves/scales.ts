/** An axis: how values become places between 0 and 1, and where it has marks. */
export interface Axis {
  place: (value: number) => number;
  ticks: readonly number[];
}

/** An axis from one value to another, with about so many marks at round values. */
export function linearAxis(from: number, to: number, wanted: number): Axis {
  const size = to - from || 1;
  const rough = size / Math.max(1, wanted);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5, 10].find((one) => one * power >= rough) ?? 10);
  const ticks: number[] = [];
  for (let at = Math.ceil(from / step - 1e-9); at * step <= to + step * 1e-9; at += 1)
    ticks.push(round(at * step, step));
  return { place: (value) => (value - from) / size, ticks };
}

/** An axis by decades; with few of them it has marks between. */
export function logAxis(from: number, to: number, wanted: number): Axis {
  const [low, high] = [Math.log10(from), Math.log10(to)];
  const size = high - low || 1;
  const steps = size <= 2 ? [1, 2, 5] : [1];
  const every = Math.max(1, Math.ceil((size * steps.length) / Math.max(1, wanted)));
  const ticks: number[] = [];
  for (let decade = Math.floor(low); decade <= Math.ceil(high); decade += 1) {
    if (steps.length === 1 && decade % every !== 0) continue;
    for (const step of steps) ticks.push(Number((step * 10 ** decade).toPrecision(3)));
  }
  return {
    place: (value) => (Math.log10(value) - low) / size,
    ticks: ticks.filter((tick) => tick >= from * 0.999 && tick <= to * 1.001),
  };
}

function round(value: number, step: number): number {
  return Number(value.toFixed(Math.max(0, -Math.floor(Math.log10(step)) + 1)));
}

/** The least and the greatest of values within a range of the scale, with a little room; `undefined`: there are none. */
export function rangeOf(
  curves: readonly { x: readonly number[]; y: readonly number[] }[],
  [from, to]: readonly [number, number],
): [number, number] | undefined {
  let [low, high] = [Infinity, -Infinity];
  for (const { x, y } of curves) {
    for (const [at, value] of y.entries()) {
      const place = x[at] ?? Number.NaN;
      if (!(place >= from && place <= to) || !Number.isFinite(value)) continue;
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
  }
  if (low > high) return undefined;
  const room = (high - low) * 0.06 || Math.abs(high) * 0.1 || 1;
  return [low - room, high + room];
}

/** The value of a curve at a place of its scale, between its points on a straight line. */
export function valueAt(x: readonly number[], y: readonly number[], place: number): number | undefined {
  const next = x.findIndex((one) => one >= place);
  if (next === -1) return y.at(-1);
  if (next === 0) return y[0];
  const [left = 0, right = 0] = [x[next - 1], x[next]];
  const [low = 0, high = 0] = [y[next - 1], y[next]];
  return right === left ? high : low + ((high - low) * (place - left)) / (right - left);
}

/** A range of a scale moved by a share of its width, as far as the whole of the scale goes. */
export function panned(
  range: readonly [number, number],
  whole: readonly [number, number],
  share: number,
  isLog: boolean,
): [number, number] {
  const even = (place: number): number => (isLog ? Math.log10(place) : place);
  const back = (place: number): number => (isLog ? 10 ** place : place);
  const [from, to] = [even(range[0]), even(range[1])];
  const by = Math.min(Math.max(share * (to - from), even(whole[0]) - from), even(whole[1]) - to);
  return [back(from + by), back(to + by)];
}

/** Of the whole of a scale at least this share is shown. */
const closest = 1e-4;

/**
 * A range of a scale made wider or narrower by a factor, so that what lies at a share of its width stays there;
 * `undefined`: it is the whole of the scale.
 */
export function zoomed(
  range: readonly [number, number],
  whole: readonly [number, number],
  { share, factor, isLog }: { share: number; factor: number; isLog: boolean },
): readonly [number, number] | undefined {
  const even = (place: number): number => (isLog ? Math.log10(place) : place);
  const back = (place: number): number => (isLog ? 10 ** place : place);
  const [from, to, first, last] = [even(range[0]), even(range[1]), even(whole[0]), even(whole[1])];
  const size = Math.max((to - from) * factor, (last - first) * closest);
  if (size >= last - first) return undefined;
  const left = Math.min(Math.max(from + share * (to - from - size), first), last - size);
  return [back(left), back(left + size)];
}

/** The place of a share of an axis: the other way round of `place`. */
export function placeAt(share: number, [from, to]: readonly [number, number], isLog: boolean): number {
  return isLog ? from * (to / from) ** share : from + (to - from) * share;
}
