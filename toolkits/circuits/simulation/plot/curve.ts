/** Values over a monotonic scale: time in seconds, or frequency in hertz. */
export interface Curve {
  x: ArrayLike<number>;
  y: ArrayLike<number>;
}

/** Interpolation between two points: linear, or linear over the logarithm of the scale. */
export type Between = "linear" | "logarithmic";

type Direction = "up" | "down" | "any";

/**
 * The first position from `from` on where the curve crosses a level in the given direction; `undefined` if it does not.
 */
export function crossing(
  { x, y }: Curve,
  level: number,
  {
    direction = "any",
    from = -Infinity,
    between = "linear",
  }: { direction?: Direction; from?: number; between?: Between } = {},
): number | undefined {
  for (let index = 1; index < x.length; index += 1) {
    const [x0 = 0, x1 = 0] = [x[index - 1], x[index]];
    const [y0 = 0, y1 = 0] = [y[index - 1], y[index]];
    if (x1 < from || y0 === y1) continue;
    if (!passes(y0, y1, level, direction)) continue;
    const part = (level - y0) / (y1 - y0);
    const place = between === "linear" || x0 <= 0 ? x0 + part * (x1 - x0) : x0 * (x1 / x0) ** part;
    if (place >= from) return place;
  }
  return undefined;
}

function passes(from: number, to: number, level: number, direction: Direction): boolean {
  const isUp = from < level && to >= level;
  const isDown = from > level && to <= level;
  return (isUp && direction !== "down") || (isDown && direction !== "up");
}

/** The interpolated value at a position; beyond the ends the first or last value. */
export function valueAt({ x, y }: Curve, place: number, between: Between = "linear"): number {
  let [low, high] = [0, x.length - 1];
  if (high < 0) return Number.NaN;
  if (place <= (x[0] ?? 0)) return y[0] ?? Number.NaN;
  if (place >= (x[high] ?? 0)) return y[high] ?? Number.NaN;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if ((x[middle] ?? 0) <= place) low = middle;
    else high = middle;
  }
  const [x0 = 0, x1 = 0, y0 = 0, y1 = 0] = [x[low], x[high], y[low], y[high]];
  if (x1 === x0) return y1;
  const part = between === "linear" || x0 <= 0 ? (place - x0) / (x1 - x0) : Math.log(place / x0) / Math.log(x1 / x0);
  return y0 + part * (y1 - y0);
}

/** The part of a curve between two positions. */
export function part({ x, y }: Curve, from: number, to: number): Curve {
  const [first, last] = [lowest(x, from), lowest(x, to)];
  const inner = { x: Array.from(x).slice(first, last), y: Array.from(y).slice(first, last) };
  return { x: [from, ...inner.x, to], y: [valueAt({ x, y }, from), ...inner.y, valueAt({ x, y }, to)] };
}

/** The integral of a curve by the trapezoidal rule. */
export function integral({ x, y }: Curve): number {
  let sum = 0;
  for (let index = 1; index < x.length; index += 1) {
    sum += (((y[index] ?? 0) + (y[index - 1] ?? 0)) / 2) * ((x[index] ?? 0) - (x[index - 1] ?? 0));
  }
  return sum;
}

function lowest(x: ArrayLike<number>, place: number): number {
  let index = 0;
  while (index < x.length && (x[index] ?? 0) <= place) index += 1;
  return index;
}
