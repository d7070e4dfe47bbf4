import {
  Background,
  MarkerType,
  Panel,
  Position,
  ReactFlow,
  useReactFlow,
  type Edge,
  type Node,
  type NodeProps,
} from "@xyflow/react";
import ChevronsDownUp from "icon:chevrons-down-up";
import ChevronsUpDown from "icon:chevrons-up-down";
import Maximize from "icon:maximize";
import Minus from "icon:minus";
import Plus from "icon:plus";
import { useEffect, useMemo, useState, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { visible } from "../../markdown/links.ts";
import {
  folded,
  isLarge,
  placed,
  subgraphsOf,
  type Box,
  type GraphDrawing,
  type Pause,
} from "../../run/graph-layout.ts";
import type { NodeState } from "../../run/spans.ts";
import { work } from "../../text/inspector/work.ts";
import { IconButton } from "../button.tsx";
import "@xyflow/react/dist/base.css";
import "../../style/later.css";

interface BoxData extends Record<string, unknown> {
  name: string;
  state: NodeState | undefined;
  isSelected: boolean;
  interrupt: string | undefined;
  isEdge: boolean;
  /** It stands for a subgraph that a click opens. */
  isClosed: boolean;
}
type BoxNode = Node<BoxData>;

const nodeTypes = { step: StepNode, frame: FrameNode };
const none: ReadonlyMap<string, NodeState> = new Map();

/** A graph as it is drawn, with what a run has done in it. */
export function GraphView({
  drawing: whole,
  label,
  states = none,
  pauses,
  selected,
  onSelect,
}: {
  drawing: GraphDrawing;
  label: string;
  /** Where a run is to stop, beside where the graph itself says so. */
  pauses?: ReadonlyMap<string, Pause>;
  states?: ReadonlyMap<string, NodeState>;
  selected?: string | undefined;
  onSelect?: (node: string) => void;
}) {
  const { t } = useTranslation(work);
  const canFold = isLarge(whole);
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const drawing = useMemo(() => (canFold ? folded(whole, open) : whole), [canFold, whole, open]);
  const subgraphs = useMemo(() => subgraphsOf(whole), [whole]);
  const toggle = (id: string) => {
    const next = new Set(open);
    if (!next.delete(id)) next.add(id);
    setOpen(next);
  };
  const boxes = useMemo(() => placed(drawing), [drawing]);
  const interrupts = useMemo(
    () => new Map(drawing.nodes.map(({ id, interrupt }) => [id, pauses?.get(id) ?? interrupt])),
    [drawing, pauses],
  );
  const nodes = useMemo(
    () =>
      // A frame comes before what lies in it.
      boxes
        .toSorted((one, other) => depthOf(one.id, one.parent) - depthOf(other.id, other.parent))
        .map((box): BoxNode => {
          const isEdge = box.id === "__start__" || box.id === "__end__";
          const name = box.id === "__start__" ? t("graph.start") : box.id === "__end__" ? t("graph.end") : box.name;
          return {
            id: box.id,
            type: box.isFrame ? "frame" : "step",
            position: { x: box.x, y: box.y },
            width: box.width,
            height: box.height,
            ...(!box.isFrame && known(box)),
            ...(box.parent !== undefined && { parentId: box.parent }),
            data: {
              name: visible(name),
              state: states.get(box.id),
              isSelected: selected === box.id,
              interrupt: interrupts.get(box.id),
              isEdge,
              isClosed: canFold && !box.isFrame && subgraphs.has(box.id),
            },
          };
        }),
    [boxes, canFold, interrupts, states, selected, subgraphs, t],
  );
  const edges = useMemo(
    () =>
      drawing.edges.map(({ source, target, label: text, conditional }, index): Edge => {
        const isTaken = hasRun(source, states) && hasRun(target, states);
        return {
          id: `${source}-${target}-${index}`,
          source,
          target,
          className: isTaken ? "edge-taken" : "",
          ...(text !== undefined && { label: visible(text) }),
          ...(conditional && { style: { strokeDasharray: "5 4" } }),
          markerEnd: { type: MarkerType.ArrowClosed, width: 16, height: 16 },
        };
      }),
    [drawing, states],
  );
  return (
    <div className="graph-view" role="group" aria-label={label}>
      <ReactFlow
        nodes={nodes}
        edges={edges}
        nodeTypes={nodeTypes}
        fitView
        fitViewOptions={{ padding: 0.12, maxZoom: 1.1 }}
        minZoom={0.05}
        nodesDraggable={false}
        nodesConnectable={false}
        nodesFocusable={false}
        edgesFocusable={false}
        zoomOnScroll={false}
        panOnScroll={false}
        preventScrolling={false}
        proOptions={{ hideAttribution: true }}
        onNodeClick={(_event, { id }) => {
          if (canFold && subgraphs.has(id)) toggle(id);
          onSelect?.(id);
        }}
      >
        <Background gap={20} size={1} />
        <Zoom drawing={drawing}>
          {canFold && (
            <IconButton
              label={open.size > 0 ? t("graph.closeAll") : t("graph.openAll")}
              onClick={() => setOpen(open.size > 0 ? new Set() : subgraphs)}
            >
              {open.size > 0 ? <ChevronsDownUp size={16} /> : <ChevronsUpDown size={16} />}
            </IconButton>
          )}
        </Zoom>
      </ReactFlow>
    </div>
  );
}

/** Where edges begin and end: known beforehand, so that boxes need not be drawn, measured and drawn again. */
function known({ width, height }: Box): Pick<BoxNode, "measured" | "handles"> {
  const x = width / 2;
  return {
    measured: { width, height },
    handles: [
      { type: "target", position: Position.Top, x, y: 0 },
      { type: "source", position: Position.Bottom, x, y: height },
    ],
  };
}

function depthOf(id: string, parent: string | undefined): number {
  return parent === undefined ? 0 : id.split(/[:|]/u).length;
}

function hasRun(id: string, states: ReadonlyMap<string, NodeState>): boolean {
  return states.has(id) || (states.size > 0 && id === "__start__");
}

function Zoom({ drawing, children }: { drawing: GraphDrawing; children: ReactNode }) {
  const { t } = useTranslation(work);
  const { zoomIn, zoomOut, fitView } = useReactFlow();
  useEffect(() => {
    void fitView({ padding: 0.12, maxZoom: 1.1 });
  }, [drawing, fitView]);
  return (
    <Panel position="bottom-right" className="graph-zoom">
      {children}
      <IconButton label={t("graph.zoomIn")} onClick={() => void zoomIn()}>
        <Plus size={16} />
      </IconButton>
      <IconButton label={t("graph.zoomOut")} onClick={() => void zoomOut()}>
        <Minus size={16} />
      </IconButton>
      <IconButton label={t("graph.fit")} onClick={() => void fitView({ padding: 0.12, maxZoom: 1.1 })}>
        <Maximize size={16} />
      </IconButton>
    </Panel>
  );
}

/** React Flow looks for the ends of edges by these classes; its own parts for them listen to every change of the drawing. */
function StepNode({ data }: NodeProps<BoxNode>) {
  const { name, state, isSelected, interrupt, isEdge, isClosed } = data;
  return (
    <div
      className="graph-node"
      data-status={state?.status}
      data-selected={isSelected || undefined}
      data-edge={isEdge || undefined}
      data-pauses={interrupt}
      title={name}
    >
      <i className="graph-end target" data-handlepos="top" />
      <span>{name}</span>
      {isClosed && <ChevronsUpDown size={13} aria-hidden="true" />}
      {state !== undefined && state.times > 1 && <b>×{state.times}</b>}
      <i className="graph-end source" data-handlepos="bottom" />
    </div>
  );
}

function FrameNode({ data }: NodeProps<BoxNode>) {
  return (
    <div className="graph-frame" data-status={data.state?.status} data-selected={data.isSelected || undefined}>
      <span>{data.name}</span>
    </div>
  );
}
