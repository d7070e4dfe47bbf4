import { memo, useId } from "react";
import { visible } from "../../markdown/links.ts";
import type { Box, GraphDrawing } from "../../run/graph-layout.ts";

/** How strongly an edge that leads upwards is bent. */
const bend = 6.25;

/** The edges of a drawing, from the lower side of a box to the upper one of another. `taken`: both ends of it have run. */
export const GraphEdges = memo(function GraphEdges({
  edges,
  boxes,
  taken,
}: {
  edges: GraphDrawing["edges"];
  boxes: ReadonlyMap<string, Box>;
  taken: (edge: GraphDrawing["edges"][number]) => boolean;
}) {
  const arrow = useId();
  return (
    <svg className="graph-edges" width={1} height={1}>
      <marker
        id={arrow}
        viewBox="-10 -10 20 20"
        markerWidth={16}
        markerHeight={16}
        markerUnits="userSpaceOnUse"
        orient="auto"
      >
        <path d="M-5 -4 0 0 -5 4Z" />
      </marker>
      {edges.map((edge, index) => {
        const [from, to] = [boxes.get(edge.source), boxes.get(edge.target)];
        if (from === undefined || to === undefined) return undefined;
        const { way, x, y } = wayBetween(from, to);
        return (
          <g key={index}>
            <path
              className="graph-edge"
              d={way}
              markerEnd={`url(#${arrow})`}
              data-taken={taken(edge) || undefined}
              data-conditional={edge.conditional || undefined}
            />
            {edge.label !== undefined && (
              <text x={x} y={y} dy="0.3em" textAnchor="middle">
                {visible(edge.label)}
              </text>
            )}
          </g>
        );
      })}
    </svg>
  );
});

/** A curve between two boxes, and its middle. */
function wayBetween(from: Box, to: Box): { way: string; x: number; y: number } {
  const [x1, y1, x2, y2] = [from.x + from.width / 2, from.y + from.height, to.x + to.width / 2, to.y];
  const tall = y2 - y1;
  const reach = tall >= 0 ? tall / 2 : bend * Math.sqrt(-tall);
  const way = `M${x1} ${y1}C${x1} ${y1 + reach} ${x2} ${y2 - reach} ${x2} ${y2}`;
  return { way, x: (x1 + x2) / 2, y: (y1 + y2) / 2 };
}
