/** One line of the result. `limit` is what Millrace must reach (`max`: at most, `min`: at least). */
export interface Figure {
  measure: string;
  value: number;
  unit: string;
  max?: number;
  min?: number;
  /** The same measured at the peer, where it was asked for. */
  peer?: number;
  /** For a ratio to the peer: at least so many times better. */
  minRatio?: number;
  note?: string;
}

/** A heading and its figures, as one section of the benchmark gives them. `rows`, with a head, replace one row a figure. */
export interface Section {
  title: string;
  figures: Figure[];
  rows?: string[][];
}

/** Prints the sections as tables, and at the end how many targets were met. */
export function printSections(sections: Section[]): void {
  for (const section of sections) printSection(section);
  printVerdict(sections);
}

/** Prints a section as a table. */
export function printSection({ title, figures, rows: ownRows }: Section): void {
  console.log(`\n## ${title}\n`);
  if (ownRows !== undefined) {
    printTable(ownRows);
    return;
  }
  const withPeer = figures.some(({ peer }) => peer !== undefined);
  const head = ["measure", "figure", "target", "verdict", ...(withPeer ? ["peer", "peer / ours"] : []), "note"];
  const rows = figures.map((figure) => [
    figure.measure,
    `${show(figure.value)} ${figure.unit}`,
    target(figure),
    verdict(figure),
    ...(withPeer ? peerCells(figure) : []),
    figure.note ?? "",
  ]);
  printTable([head, ...rows]);
}

/** Prints how many targets were met. */
export function printVerdict(sections: Section[]): void {
  const verdicts = sections.flatMap(({ figures }) => figures).map(verdict);
  const hits = verdicts.filter((word) => word === "hit").length;
  const misses = verdicts.filter((word) => word === "MISS").length;
  console.log(`\n${hits} targets met, ${misses} missed.`);
}

/** Whether the figure is within its target: `hit`, `MISS`, or nothing where there is none. */
export function verdict(figure: Figure): string {
  const { value, max, min, peer, minRatio } = figure;
  if (!Number.isFinite(value)) return "MISS";
  const checks = [
    max === undefined ? undefined : value <= max,
    min === undefined ? undefined : value >= min,
    minRatio === undefined || peer === undefined ? undefined : peer / value >= minRatio,
  ].filter((check) => check !== undefined);
  if (checks.length === 0) return "";
  return checks.every(Boolean) ? "hit" : "MISS";
}

/** The target in words: `<= 14 ms, 40x the peer`; empty where there is none. */
export function target({ max, min, minRatio, peer, unit }: Figure): string {
  const parts = [
    max === undefined ? "" : `<= ${max} ${unit}`,
    min === undefined ? "" : `>= ${min} ${unit}`,
    minRatio === undefined || peer === undefined ? "" : `${minRatio}x the peer`,
  ];
  return parts.filter((part) => part !== "").join(", ");
}

function peerCells({ peer, value, unit }: Figure): string[] {
  return peer === undefined ? ["", ""] : [`${show(peer)} ${unit}`, `${show(peer / value)}x`];
}

/** A number with about three digits. */
export function show(value: number): string {
  if (!Number.isFinite(value)) return String(value);
  if (Math.abs(value) >= 100) return value.toFixed(0);
  return Math.abs(value) >= 10 ? value.toFixed(1) : value.toFixed(2);
}

function printTable(rows: string[][]): void {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => (row[column] ?? "").length)));
  const line = (row: string[]): string =>
    `| ${row.map((cell, index) => cell.padEnd(widths[index] ?? 0)).join(" | ")} |`;
  const [head, ...body] = rows;
  if (head === undefined) return;
  console.log(line(head));
  console.log(`|${widths.map((width) => "-".repeat(width + 2)).join("|")}|`);
  for (const row of body) console.log(line(row));
}

/** Figures that a toolkit adds: `toolkits/<name>/tests/bench.ts` exports them as `measures`. They take how often to try. */
export type ToolkitMeasures = Readonly<Record<string, (times: number) => Promise<Section>>>;
