/** What a part of a run is. */
export const spanKinds = ["run", "step", "node", "model", "tool", "agent", "wait", "retry"] as const;
/** One of them. */
export type SpanKind = (typeof spanKinds)[number];

/** A part of a run with its time. Times are milliseconds since 1970; `end` is missing while it goes on. */
export interface Span {
  id: string;
  parent: string | null;
  kind: SpanKind;
  name: string;
  node: string | null;
  namespace: readonly string[];
  checkpoint_id: string | null;
  start: number | null;
  first_token: number | null;
  end: number | null;
  status: string;
  usage: { input_tokens: number; output_tokens: number; cached_tokens: number } | null;
  cost: number | null;
  model: string | null;
  error: { error: string; message: string } | null;
  model_call_id: string | null;
  tool_call_id: string | null;
  payloads: { input: boolean; output: boolean };
}

/** A span with its place in the tree. */
export interface SpanRow {
  span: Span;
  depth: number;
  children: number;
}

/** When a part began; where only its end is known, that. */
export function momentOf({ start, end }: Span): number {
  return start ?? end ?? Infinity;
}

/** The spans below each span, in the order in which they began. A span whose parent is not known lies below the run. */
export function childrenOf(spans: ReadonlyMap<string, Span>): ReadonlyMap<string | null, Span[]> {
  const children = new Map<string | null, Span[]>();
  for (const span of spans.values()) {
    const parent = span.parent !== null && spans.has(span.parent) && span.parent !== span.id ? span.parent : null;
    const list = children.get(parent);
    if (list === undefined) children.set(parent, [span]);
    else list.push(span);
  }
  for (const list of children.values()) {
    list.sort((one, other) => momentOf(one) - momentOf(other) || (one.id < other.id ? -1 : 1));
  }
  return children;
}

/** The rows of the tree that are shown: all but those below a closed span, and those that `isShown` leaves out. */
export function rowsOfTree(
  spans: ReadonlyMap<string, Span>,
  isClosed: (id: string) => boolean,
  isShown: (span: Span) => boolean = () => true,
): SpanRow[] {
  const children = childrenOf(spans);
  const rows: SpanRow[] = [];
  // A stack of our own: a run may be thousands of agents deep.
  const waiting = (children.get(null) ?? []).toReversed().map((span) => ({ span, depth: 0 }));
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { span, depth } = next;
    const inside = children.get(span.id) ?? [];
    const shown = isShown(span);
    if (shown) rows.push({ span, depth, children: inside.length });
    if (shown && isClosed(span.id)) continue;
    for (const child of inside.toReversed()) waiting.push({ span: child, depth: shown ? depth + 1 : depth });
  }
  return rows;
}

/** A stretch of time and how wide it is drawn, as parts of one. */
export interface Stretch {
  from: number;
  to: number;
  at: number;
  width: number;
  /** Nothing happened in it, and it is drawn narrow. */
  isIdle: boolean;
}

/** Gaps without activity that are longer than this are drawn narrow. */
const minIdleMs = 2_000;
/** How wide a narrow gap is, as a part of the busy time. */
const narrow = 0.02;

/** The time of a run as it is drawn: long stretches in which nothing happened are narrow, where that is wanted. */
export function timeline(spans: Iterable<Span>, now: number, squeezes: boolean): Stretch[] {
  const busy: [number, number][] = [];
  let first = Infinity;
  let last = -Infinity;
  for (const { kind, start, end } of spans) {
    if (start === null && end === null) continue;
    const from = start ?? end ?? now;
    const to = Math.max(from, end ?? now);
    first = Math.min(first, from);
    last = Math.max(last, to);
    if (kind !== "run" && kind !== "step" && kind !== "wait") busy.push([from, to]);
  }
  if (first > last) return [];
  if (first === last) last = first + 1;
  const gaps = squeezes ? gapsOf(busy, first, last) : [];
  const idle = gaps.reduce((sum, [from, to]) => sum + to - from, 0);
  const total = last - first - idle || 1;
  const gapWidth = narrow * total;
  const whole = total + gapWidth * gaps.length;
  const stretches: Stretch[] = [];
  let at = 0;
  let from = first;
  const add = (to: number, isIdle: boolean): void => {
    if (to <= from) return;
    const width = (isIdle ? gapWidth : to - from) / whole;
    stretches.push({ from, to, at, width, isIdle });
    at += width;
    from = to;
  };
  for (const [begin, end] of gaps) {
    add(begin, false);
    add(end, true);
  }
  add(last, false);
  return stretches;
}

function gapsOf(busy: [number, number][], first: number, last: number): [number, number][] {
  if (busy.length === 0) return [];
  const gaps: [number, number][] = [];
  let reached = first;
  for (const [from, to] of busy.toSorted((one, other) => one[0] - other[0])) {
    if (from - reached > minIdleMs) gaps.push([reached, from]);
    reached = Math.max(reached, to);
  }
  if (last - reached > minIdleMs) gaps.push([reached, last]);
  return gaps;
}

/** Where a moment is drawn, between 0 and 1. */
export function placeOf(stretches: readonly Stretch[], time: number): number {
  let low = 0;
  let high = stretches.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((stretches[middle]?.to ?? 0) < time) low = middle + 1;
    else high = middle;
  }
  const stretch = stretches[low];
  if (stretch === undefined) return 0;
  const share = (time - stretch.from) / (stretch.to - stretch.from || 1);
  return Math.min(1, Math.max(0, stretch.at + Math.min(1, Math.max(0, share)) * stretch.width));
}

/** How a node of the drawing stands. */
export interface NodeState {
  status: "running" | "done" | "failed" | "stopped";
  times: number;
  milliseconds: number;
  /** The newest span of the node. */
  span: string;
}

/** How the nodes of a graph stand, by their id in the drawing: the path of subgraphs and the name. */
export function nodeStates(spans: Iterable<Span>): ReadonlyMap<string, NodeState> {
  const states = new Map<string, NodeState>();
  for (const { id, kind, name, namespace, status, start, end } of spans) {
    if (kind !== "node") continue;
    const path = [...namespace.map((part) => part.split(":")[0] ?? part), name].join(":");
    const before = states.get(path);
    const took = start !== null && end !== null ? end - start : 0;
    states.set(path, {
      status: end === null && status === "running" ? "running" : statusOf(status),
      times: (before?.times ?? 0) + 1,
      milliseconds: (before?.milliseconds ?? 0) + took,
      span: id,
    });
  }
  return states;
}

function statusOf(status: string): NodeState["status"] {
  if (status === "success") return "done";
  if (status === "error" || status === "timeout") return "failed";
  return status === "running" ? "running" : "stopped";
}

/** The node that made a call, below those that it is a part of, as the drawing names it: "free_work:call_model". */
export function nodePath(span: Span, spans: ReadonlyMap<string, Span>): string {
  const names: string[] = [];
  const passed = new Set<Span>();
  for (let at: Span | undefined = span; at !== undefined && !passed.has(at); at = spans.get(at.parent ?? "")) {
    passed.add(at);
    if (at.kind === "node") names.unshift(at.name);
  }
  if (span.node !== null && names.at(-1) !== span.node) names.push(span.node);
  return names.length === 0 ? span.name : names.join(":");
}

/** A time that is written above the bars, and where: as a part of the width that is seen. */
export interface TimeMark {
  at: number;
  milliseconds: number;
}

/** About how many times are written above the bars, and the minimum gap between two, as a fraction of the width. */
const wantedMarks = 5;
const minGap = 0.12;

/** Round times of what is seen of a run: of `zoom` parts one, which begins at `from`. */
export function timeMarks(stretches: readonly Stretch[], from: number, zoom: number): TimeMark[] {
  const begin = stretches[0]?.from ?? 0;
  const marks: TimeMark[] = [];
  for (const { from: first, to, at, width, isIdle } of stretches) {
    if (isIdle || width === 0 || to <= first) continue;
    const perWidth = (to - first) / width;
    const step = roundStep(perWidth / zoom / wantedMarks);
    const seenFrom = first + Math.max(0, from - at) * perWidth;
    const seenTo = Math.min(to, first + (from + 1 / zoom - at) * perWidth);
    for (let time = Math.ceil((seenFrom - begin) / step) * step; begin + time <= seenTo; time += step) {
      const place = (placeOf(stretches, begin + time) - from) * zoom;
      const before = marks.at(-1)?.at ?? -1;
      // What is written at the end would be cut.
      if (place - before >= minGap && place <= 1 - minGap / 2) marks.push({ at: place, milliseconds: time });
    }
  }
  return marks;
}

/** The next larger of 1, 2 and 5 times a power of ten. */
function roundStep(wanted: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(wanted, 1e-3)));
  return ([1, 2, 5].find((factor) => factor * power >= wanted) ?? 10) * power;
}

/** What a run used: by model or by node. */
export interface UsageRow {
  name: string;
  calls: number;
  input: number;
  output: number;
  cached: number;
  cost: number | null;
  /** `null`: no call says how long it took. */
  milliseconds: number | null;
}

/** Adds up the model calls by a name of theirs. */
export function usageBy(spans: Iterable<Span>, nameOf: (span: Span) => string): UsageRow[] {
  const rows = new Map<string, UsageRow>();
  for (const span of spans) {
    if (span.kind !== "model") continue;
    const name = nameOf(span);
    const row = rows.get(name) ?? { name, calls: 0, input: 0, output: 0, cached: 0, cost: null, milliseconds: null };
    row.calls += 1;
    row.input += span.usage?.input_tokens ?? 0;
    row.output += span.usage?.output_tokens ?? 0;
    row.cached += span.usage?.cached_tokens ?? 0;
    if (span.cost !== null) row.cost = (row.cost ?? 0) + span.cost;
    if (span.start !== null && span.end !== null) row.milliseconds = (row.milliseconds ?? 0) + span.end - span.start;
    rows.set(name, row);
  }
  return [...rows.values()].toSorted((one, other) => other.input + other.output - (one.input + one.output));
}
