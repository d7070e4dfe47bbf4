import { Graph, layout, type EdgeLabel, type GraphLabel, type NodeLabel } from "@dagrejs/dagre";
import type { Netlist } from "../../api/shaping/circuit-shapes.ts";

/** Parts that are drawn; more cannot be read. */
export const maxParts = 200;

/** A part or a net at its place; places are middles. */
export interface Placed {
  kind: "part" | "net";
  name: string;
  /** What stands below the name. */
  value: string;
  /** A part has a pin at ground, which is a mark and no net: all would meet there. */
  isGrounded: boolean;
  x: number;
  y: number;
  width: number;
  height: number;
}

/** A pin of a part: the line from it to its net. */
export interface Pin {
  net: string;
  part: string;
  from: readonly [x: number, y: number];
  to: readonly [x: number, y: number];
}

/** What is drawn of a circuit. */
export interface Connections {
  places: Placed[];
  pins: Pin[];
  width: number;
  height: number;
}

const ground = "0";
const maxLength = 14;
const letter = 7.4;

/** The value of a part as far as a box has room for it. */
function shortened(value: string): string {
  return value.length > maxLength ? `${value.slice(0, maxLength - 1)}…` : value;
}

/** Places the parts and nets of the circuit itself, not those inside its sub-circuits. */
export function connectionsOf({ parts: all }: Pick<Netlist, "parts">): Connections {
  const parts = all.filter(({ subcircuit }) => subcircuit === null).slice(0, maxParts);
  const nets = [...new Set(parts.flatMap(({ nodes }) => nodes))].filter((net) => net !== ground);
  const graph = new Graph<GraphLabel, NodeLabel, EdgeLabel>({ multigraph: true });
  graph.setGraph({ rankdir: "LR", nodesep: 18, ranksep: 36, marginx: 12, marginy: 12 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const net of nets) graph.setNode(`net ${net}`, { width: 20 + net.length * letter, height: 24 });
  for (const [at, { name, value }] of parts.entries()) {
    const letters = Math.max(name.length, shortened(value).length);
    graph.setNode(`part ${at}`, { width: 24 + letters * letter, height: 42 });
  }
  for (const [at, { nodes }] of parts.entries()) {
    const own = [...new Set(nodes)].filter((node) => node !== ground);
    // A part stands between its nets: from the first of them to the others.
    for (const [pin, node] of own.entries()) {
      const ends = pin === 0 && own.length > 1 ? [`net ${node}`, `part ${at}`] : [`part ${at}`, `net ${node}`];
      graph.setEdge(ends[0] ?? "", ends[1] ?? "", {}, String(pin));
    }
  }
  layout(graph);
  const placeOf = (id: string) => {
    const { x = 0, y = 0, width, height } = graph.node(id);
    return { x, y, width, height };
  };
  const places = [
    ...nets.map((name): Placed => ({ kind: "net", name, value: "", isGrounded: false, ...placeOf(`net ${name}`) })),
    ...parts.map(({ name, value, nodes }, at): Placed => ({
      kind: "part",
      name,
      value: shortened(value),
      isGrounded: nodes.includes(ground),
      ...placeOf(`part ${at}`),
    })),
  ];
  const pins = parts.flatMap(({ name, nodes }, at) =>
    [...new Set(nodes)]
      .filter((node) => node !== ground)
      .map((net): Pin => {
        const [part, node] = [placeOf(`part ${at}`), placeOf(`net ${net}`)];
        const side = node.x >= part.x ? 1 : -1;
        return {
          net,
          part: name,
          from: [part.x + (side * part.width) / 2, part.y],
          to: [node.x - (side * node.width) / 2, node.y],
        };
      }),
  );
  const right = Math.max(0, ...places.map(({ x, width }) => x + width / 2));
  const low = Math.max(0, ...places.map(({ y, height, isGrounded }) => y + height / 2 + (isGrounded ? 16 : 0)));
  return { places, pins, width: right + 12, height: low + 12 };
}
