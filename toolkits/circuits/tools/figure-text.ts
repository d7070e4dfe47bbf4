import type { Goal, GoalState } from "../simulation/goals.ts";
import type { Measure } from "../simulation/measures/measure.ts";

const prefixes: readonly (readonly [number, string])[] = [
  [1e9, "G"],
  [1e6, "M"],
  [1e3, "k"],
  [1, ""],
  [1e-3, "m"],
  [1e-6, "u"],
  [1e-9, "n"],
  [1e-12, "p"],
];

/** A figure for people: `bandwidth 653 kHz`. */
export function figureText({ name, value, unit }: Measure): string {
  return `${name} ${valueText(value, unit)}`;
}

/** A value with its unit, scaled if the unit takes a prefix. */
export function valueText(value: number, unit: string): string {
  const plain = (number: number): string => String(Number(number.toPrecision(5)));
  if (!["Hz", "s", "W", "V", "A"].includes(unit) || value === 0)
    return `${plain(value)}${unit === "" ? "" : ` ${unit}`}`;
  const [size, prefix] = prefixes.find(([one]) => Math.abs(value) >= one) ?? [1e-12, "p"];
  return `${plain(value / size)} ${prefix}${unit}`;
}

/** A goal and whether it is met, in one line; `figureUnit` is the unit of the value, which may differ from the goal's. */
export function goalText(
  { metric, target, way, unit }: Pick<Goal, "metric" | "target" | "way" | "unit">,
  state: GoalState,
  figureUnit: string,
  isChinese = false,
): string {
  const wanted = `${target}${typeof target === "number" && unit !== "" ? ` ${unit}` : ""}`;
  const word = { at_least: "at least", at_most: "at most", near: "about" }[way];
  const wordZh = { at_least: "不低于", at_most: "不超过", near: "约为" }[way];
  const head = isChinese ? `${metric}：${wordZh} ${wanted}` : `${metric}: ${word} ${wanted}`;
  if (state.kind === "unknown") return isChinese ? `${head}，未测量。` : `${head}, not measured.`;
  const value = valueText(state.value, figureUnit);
  if (state.kind === "reached") return isChinese ? `${head}，已达到：${value}。` : `${head}, reached with ${value}.`;
  const gap = valueText(state.gap, figureUnit);
  return isChinese ? `${head}，未达到：${value}，相差 ${gap}。` : `${head}, missed: ${value}, off by ${gap}.`;
}
