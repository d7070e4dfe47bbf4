import { Graph as LayoutGraph, layout, type EdgeLabel, type GraphLabel, type NodeLabel } from "@dagrejs/dagre";

/** Where a run stops at a node. */
export type Pause = "before" | "after" | "both";

/** A graph as the server describes it. */
export interface GraphDrawing {
  nodes: readonly {
    id: string;
    name: string;
    type: string;
    interrupt: Pause | undefined;
    /** It stands for a subgraph, which its box has a mark for. */
    isClosed?: boolean;
  }[];
  edges: readonly { source: string; target: string; label: string | undefined; conditional: boolean }[];
}

/** A box of the drawing: a node, or the frame of a subgraph around its nodes. Places are those within the frame around it. */
export interface Box {
  id: string;
  /** The name without the names of the frames around it. */
  name: string;
  parent: string | undefined;
  isFrame: boolean;
  x: number;
  y: number;
  width: number;
  height: number;
}

const height = 40;
const padding = { side: 18, top: 36, bottom: 18 };
/** Pixels of a letter, by the font of the boxes; of a Chinese one, and of the mark of a subgraph. */
const letter = 7.6;
const wideLetter = 13;
const mark = 19;
const wide = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\u3000-\u303F\uFF00-\uFFEF]/u;
/** Parts in the id of a node of a subgraph. */
const separator = /[:|]/u;

function widthOf(name: string, isClosed: boolean): number {
  let letters = 0;
  for (const one of name) letters += wide.test(one) ? wideLetter : letter;
  return Math.min(260, Math.max(84, Math.round(letters) + 36)) + (isClosed ? mark : 0);
}

/** The frames around a node, the outermost first: `a:b:c` lies in `a:b`, which lies in `a`. */
export function framesOf(id: string): string[] {
  if (id.startsWith("__")) return [];
  const parts = id.split(separator).slice(0, -1);
  return parts.map((_, index) =>
    id
      .split(separator)
      .slice(0, index + 1)
      .join(":"),
  );
}

/** Nodes from which on a drawing begins with its subgraphs closed. */
const maxNodes = 60;

/** Whether a graph is too large to be read when all of it is drawn. */
export function isLarge({ nodes }: GraphDrawing): boolean {
  return nodes.length > maxNodes && nodes.some(({ id }) => framesOf(id).length > 0);
}

/** The drawing in which each subgraph is one node, but for those that are open. */
export function folded({ nodes, edges }: GraphDrawing, open: ReadonlySet<string>): GraphDrawing {
  const shownAs = (id: string): string => framesOf(id).find((frame) => !open.has(frame)) ?? id;
  const shown = new Map<string, GraphDrawing["nodes"][number]>();
  for (const node of nodes) {
    const id = shownAs(node.id);
    const name = id.split(separator).at(-1) ?? id;
    if (!shown.has(id))
      shown.set(id, id === node.id ? node : { id, name, type: "runnable", interrupt: undefined, isClosed: true });
  }
  const between = new Map<string, GraphDrawing["edges"][number]>();
  for (const edge of edges) {
    const [source, target] = [shownAs(edge.source), shownAs(edge.target)];
    if (source !== target) between.set(`${source} ${target}`, { ...edge, source, target });
  }
  return { nodes: [...shown.values()], edges: [...between.values()] };
}

/** The subgraphs of a drawing. */
export function subgraphsOf({ nodes }: GraphDrawing): ReadonlySet<string> {
  return new Set(nodes.flatMap(({ id }) => framesOf(id)));
}

/** Places every node, and a frame around each subgraph; frames get their size from within. */
export function placed(drawing: GraphDrawing): Box[] {
  const frames = new Map<string, string | undefined>();
  const parentOf = new Map<string, string | undefined>();
  for (const { id } of drawing.nodes) {
    const around = framesOf(id);
    around.forEach((frame, index) => frames.set(frame, around[index - 1]));
    parentOf.set(id, around.at(-1));
  }
  for (const [frame, parent] of frames) parentOf.set(frame, parent);
  const boxes = new Map<string, Box>();
  const known = new Map(drawing.nodes.map((node) => [node.id, node]));
  const arrange = (parent: string | undefined): { width: number; height: number } => {
    const inside = [...parentOf].filter(([id, of]) => of === parent && id !== parent).map(([id]) => id);
    const graph = new LayoutGraph({ multigraph: true });
    graph.setGraph({ rankdir: "TB", nodesep: 32, ranksep: 44, marginx: 0, marginy: 0 });
    graph.setDefaultEdgeLabel(() => ({}));
    for (const id of inside) {
      const isFrame = frames.has(id);
      const node = known.get(id);
      const name = node?.name ?? id.split(separator).at(-1) ?? id;
      const size = isFrame ? arrange(id) : { width: widthOf(name, node?.isClosed === true), height };
      boxes.set(id, { id, name, parent, isFrame, x: 0, y: 0, ...size });
      graph.setNode(id, size);
    }
    for (const { source, target } of drawing.edges) {
      const [from, to] = [within(source, parent, parentOf), within(target, parent, parentOf)];
      if (from !== undefined && to !== undefined && from !== to) graph.setEdge(from, to);
    }
    layout(graph, inside.length > maxNodes ? { customOrder: quickOrder } : {});
    const shift = parent === undefined ? { x: 0, y: 0 } : { x: padding.side, y: padding.top };
    for (const id of inside) {
      const box = boxes.get(id);
      const place = graph.node(id);
      if (box === undefined) continue;
      box.x = place.x - box.width / 2 + shift.x;
      box.y = place.y - box.height / 2 + shift.y;
    }
    const { width = 0, height: tall = 0 } = graph.graph();
    return { width: width + padding.side * 2, height: tall + padding.top + padding.bottom };
  };
  arrange(undefined);
  return [...boxes.values()];
}

type Ranked = LayoutGraph<GraphLabel, NodeLabel, EdgeLabel>;

/**
 * Orders the nodes of each rank. Where their first order crosses no edges, as in every tree, no better one is looked for: a
 * large drawing takes a fifth of its time for that.
 */
function quickOrder(graph: Ranked, order: (graph: Ranked) => void): void {
  orderAsFound(graph);
  if (hasCrossings(graph)) order(graph);
}

/** Orders the nodes of each rank as they are found from the top, each followed by what it leads to. */
function orderAsFound(graph: Ranked): void {
  const counts = new Map<number, number>();
  const found = new Set<string>();
  const rankOf = (id: string): number => graph.node(id).rank ?? 0;
  const all: readonly string[] = graph.nodes();
  const open = all.toSorted((one, other) => rankOf(other) - rankOf(one));
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    if (found.has(id)) continue;
    found.add(id);
    const rank = rankOf(id);
    const place = counts.get(rank) ?? 0;
    graph.node(id).order = place;
    counts.set(rank, place + 1);
    open.push(...(graph.successors(id) ?? []).toReversed());
  }
}

/** Whether edges between the same two ranks cross. */
function hasCrossings(graph: Ranked): boolean {
  const edges: readonly { v: string; w: string }[] = graph.edges();
  const between = Map.groupBy(edges, ({ v }) => graph.node(v).rank);
  return [...between.values()].some((rank) => {
    const ends = rank
      .map(({ v, w }) => ({ from: graph.node(v).order ?? 0, to: graph.node(w).order ?? 0 }))
      .toSorted((one, other) => one.from - other.from || one.to - other.to);
    return ends.some(({ to }, index) => to < (ends[index - 1]?.to ?? 0));
  });
}

/** The box within `parent` that is, or holds, a node; `undefined` for a node that lies elsewhere. */
function within(
  id: string,
  parent: string | undefined,
  parentOf: ReadonlyMap<string, string | undefined>,
): string | undefined {
  for (let at: string | undefined = id; at !== undefined; at = parentOf.get(at)) {
    if (!parentOf.has(at)) return undefined;
    if (parentOf.get(at) === parent) return at;
  }
  return undefined;
}
