import type { Waveform } from "../waveforms.ts";

/** A named series of values. */
interface Row {
  name: string;
  values: readonly number[];
}

const [width, panel, left, right, top, gap] = [800, 260, 78, 20, 34, 52];
const colours = ["#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#17becf"];

/**
 * Draws series of an analysis as SVG: a panel per unit, gain above phase; frequencies on a logarithmic scale. `names`
 * gives the order; names missing in the waveform are skipped. Contains only text and lines.
 */
export function plotSvg({ analysis, scale, x, rows }: Waveform, names: readonly string[], title: string): string {
  const wanted = names.flatMap((name) => (rows[name] === undefined ? [] : [{ name, values: rows[name] }]));
  const units = [...new Set(wanted.map(({ name }) => unitOf(name)))];
  const isLogarithmic = scale === "frequency" && (x[0] ?? 0) > 0;
  const height = top + units.length * (panel + gap) + 10;
  const panels = units.map((unit, index) => {
    const inPanel = wanted.filter(({ name }) => unitOf(name) === unit);
    return drawPanel(inPanel, { x, unit, scale, isLogarithmic, y: top + index * (panel + gap) });
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="12">`,
    `<rect width="${width}" height="${height}" fill="#fff"/>`,
    `<text x="${width / 2}" y="20" text-anchor="middle" font-size="14">${escaped(`${title}: ${analysis}`)}</text>`,
    ...panels,
    "</svg>",
    "",
  ].join("\n");
}

interface Panel {
  x: readonly number[];
  unit: string;
  scale: string;
  isLogarithmic: boolean;
  y: number;
}

function drawPanel(rows: readonly Row[], { x, unit, scale, isLogarithmic, y }: Panel): string {
  const across = axis(x, isLogarithmic);
  const up = axis(
    rows.flatMap(({ values }) => values),
    false,
  );
  const toX = (value: number): number => left + across.at(value) * (width - left - right);
  const toY = (value: number): number => y + panel - up.at(value) * panel;
  const lines = [
    `<rect x="${left}" y="${y}" width="${width - left - right}" height="${panel}" fill="none" stroke="#333"/>`,
    ...across.marks.flatMap((mark) => [
      `<line x1="${short(toX(mark))}" y1="${y}" x2="${short(toX(mark))}" y2="${y + panel}" stroke="#ddd"/>`,
      `<text x="${short(toX(mark))}" y="${y + panel + 16}" text-anchor="middle">${label(mark)}</text>`,
    ]),
    ...up.marks.flatMap((mark) => [
      `<line x1="${left}" y1="${short(toY(mark))}" x2="${width - right}" y2="${short(toY(mark))}" stroke="#ddd"/>`,
      `<text x="${left - 6}" y="${short(toY(mark) + 4)}" text-anchor="end">${label(mark)}</text>`,
    ]),
    `<text x="${width - right}" y="${y + panel + 32}" text-anchor="end">${escaped(scaleName(scale))}</text>`,
    `<text x="14" y="${y + panel / 2}" text-anchor="middle" transform="rotate(-90 14 ${y + panel / 2})">${escaped(unit)}</text>`,
  ];
  for (const [index, { name, values }] of rows.entries()) {
    const colour = colours[index % colours.length] ?? "#000";
    const points = values.map((value, place) => `${short(toX(x[place] ?? 0))},${short(toY(value))}`).join(" ");
    lines.push(
      `<polyline points="${points}" fill="none" stroke="${colour}" stroke-width="1.5"/>`,
      `<text x="${left + 8}" y="${y + 16 + index * 15}" fill="${colour}">${escaped(name)}</text>`,
    );
  }
  return lines.join("\n");
}

/** A value's position on an axis, from 0 to 1, and the tick values. */
function axis(values: readonly number[], isLogarithmic: boolean): { at(value: number): number; marks: number[] } {
  const place = (value: number): number => (isLogarithmic ? Math.log10(value) : value);
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    if (!Number.isFinite(place(value))) continue;
    [low, high] = [Math.min(low, place(value)), Math.max(high, place(value))];
  }
  if (!(low < high)) [low, high] = Number.isFinite(low) ? [low - 1, low + 1] : [0, 1];
  const step = isLogarithmic ? Math.max(1, Math.ceil((high - low) / 10)) : niceStep((high - low) / 6);
  const first = Math.ceil(low / step - 1e-9);
  const count = Math.max(0, Math.floor(high / step + 1e-9) - first + 1);
  const marks = Array.from({ length: Math.min(count, 20) }, (_, index) => (first + index) * step);
  return {
    at: (value) => (Number.isFinite(place(value)) ? (place(value) - low) / (high - low) : 0),
    marks: isLogarithmic ? marks.map((mark) => 10 ** mark) : marks,
  };
}

function niceStep(rough: number): number {
  const size = 10 ** Math.floor(Math.log10(rough));
  return ([1, 2, 5, 10].find((factor) => factor * size >= rough) ?? 10) * size;
}

function unitOf(name: string): string {
  if (name.endsWith(" dB")) return "dB";
  if (name.endsWith(" deg")) return "deg";
  if (name.includes("spectrum")) return "V/√Hz";
  return name.startsWith("i(") ? "A" : "V";
}

function scaleName(scale: string): string {
  if (scale === "time") return "time, s";
  return scale === "frequency" ? "frequency, Hz" : scale;
}

function label(value: number): string {
  const number = Number(value.toPrecision(6));
  const [, size, prefix] = [
    [1e9, 1e9, "G"] as const,
    [1e6, 1e6, "M"] as const,
    [1e3, 1e3, "k"] as const,
    [1e-2, 1, ""] as const,
    [1e-3, 1e-3, "m"] as const,
    [1e-6, 1e-6, "µ"] as const,
    [1e-9, 1e-9, "n"] as const,
    [0, 1e-12, "p"] as const,
  ].find(([from]) => Math.abs(number) >= from) ?? [0, 1, ""];
  return number === 0 ? "0" : `${Number((number / size).toPrecision(4))}${prefix}`;
}

const short = (value: number): number => Number(value.toFixed(2));

function escaped(text: string): string {
  return text
    .replaceAll(/[\p{Cc}\p{Cs}]/gu, "")
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}
