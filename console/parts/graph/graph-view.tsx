import ChevronsDownUp from "icon:chevrons-down-up";
import ChevronsUpDown from "icon:chevrons-up-down";
import Maximize from "icon:maximize";
import Minus from "icon:minus";
import Plus from "icon:plus";
import { memo, useCallback, useEffectEvent, useLayoutEffect, useMemo, useRef, useState } from "react";
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
import { GraphEdges } from "./graph-edges.tsx";
import { makeMovable, type Movable } from "./movable.ts";
import "../../style/later.css";

/** By how much a button makes the drawing larger. */
const step = 1.2;
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
  const press = (id: string) => {
    if (canFold && subgraphs.has(id)) {
      const next = new Set(open);
      if (!next.delete(id)) next.add(id);
      setOpen(next);
    }
    onSelect?.(id);
  };
  const boxes = useMemo(() => onPlane(placed(drawing)), [drawing]);
  const { frame, plane, movable } = useMovable(boxes, press);
  const interrupts = useMemo(
    () => new Map(drawing.nodes.map(({ id, interrupt }) => [id, pauses?.get(id) ?? interrupt])),
    [drawing, pauses],
  );
  const names = (box: Box): string =>
    box.id === "__start__" ? t("graph.start") : box.id === "__end__" ? t("graph.end") : visible(box.name);
  const drawn = (box: Box) => {
    const state = states.get(box.id);
    return (
      <BoxView
        key={box.id}
        box={box}
        name={names(box)}
        status={state?.status}
        times={state?.times ?? 0}
        isSelected={selected === box.id}
        interrupt={box.isFrame ? undefined : interrupts.get(box.id)}
        isClosed={canFold && !box.isFrame && subgraphs.has(box.id)}
      />
    );
  };
  const isTaken = useCallback(
    ({ source, target }: { source: string; target: string }) => hasRun(source, states) && hasRun(target, states),
    [states],
  );
  const all = [...boxes.values()];
  const isOpen = open.size > 0;
  return (
    <div className="graph-view" role="group" aria-label={label} ref={frame}>
      <div className="graph-plane" ref={plane}>
        {all.filter(({ isFrame }) => isFrame).map(drawn)}
        <GraphEdges edges={drawing.edges} boxes={boxes} taken={isTaken} />
        {all.filter(({ isFrame }) => !isFrame).map(drawn)}
      </div>
      <div className="graph-zoom">
        {canFold && (
          <IconButton
            label={isOpen ? t("graph.closeAll") : t("graph.openAll")}
            onClick={() => setOpen(isOpen ? new Set() : subgraphs)}
          >
            {isOpen ? <ChevronsDownUp size={16} /> : <ChevronsUpDown size={16} />}
          </IconButton>
        )}
        <IconButton label={t("graph.zoomIn")} onClick={() => movable.current?.zoom(step)}>
          <Plus size={16} />
        </IconButton>
        <IconButton label={t("graph.zoomOut")} onClick={() => movable.current?.zoom(1 / step)}>
          <Minus size={16} />
        </IconButton>
        <IconButton label={t("graph.fit")} onClick={() => movable.current?.fit(sizeOf(boxes))}>
          <Maximize size={16} />
        </IconButton>
      </div>
    </div>
  );
}

/** Keeps a drawing movable, and shows all of it when it is another one. */
function useMovable(boxes: ReadonlyMap<string, Box>, press: (node: string) => void) {
  const frame = useRef<HTMLDivElement>(null);
  const plane = useRef<HTMLDivElement>(null);
  const movable = useRef<Movable>(undefined);
  const onPress = useEffectEvent((element: Element) => {
    const id = element.closest("[data-node]")?.getAttribute("data-node");
    if (typeof id === "string") press(id);
  });
  useLayoutEffect(() => {
    if (frame.current === null || plane.current === null) return undefined;
    const made = (movable.current = makeMovable(frame.current, plane.current, (element) => onPress(element)));
    return () => made.close();
  }, []);
  useLayoutEffect(() => movable.current?.fit(sizeOf(boxes)), [boxes]);
  return { frame, plane, movable };
}

/** The boxes by their ids, placed on the whole drawing; a frame comes before what lies in it. */
function onPlane(boxes: readonly Box[]): Map<string, Box> {
  const depthOf = ({ id, parent }: Box): number => (parent === undefined ? 0 : id.split(/[:|]/u).length);
  const found = new Map<string, Box>();
  for (const box of boxes.toSorted((one, other) => depthOf(one) - depthOf(other))) {
    const { x, y } = (box.parent === undefined ? undefined : found.get(box.parent)) ?? { x: 0, y: 0 };
    found.set(box.id, { ...box, x: box.x + x, y: box.y + y });
  }
  return found;
}

function sizeOf(boxes: ReadonlyMap<string, Box>): { width: number; height: number } {
  let [width, height] = [0, 0];
  for (const box of boxes.values()) {
    width = Math.max(width, box.x + box.width);
    height = Math.max(height, box.y + box.height);
  }
  return { width, height };
}

function hasRun(id: string, states: ReadonlyMap<string, NodeState>): boolean {
  return states.has(id) || (states.size > 0 && id === "__start__");
}

/** A node, or the frame of a subgraph; drawn again only where something of it has changed. */
const BoxView = memo(function BoxView({
  box: { id, isFrame, x, y, width, height },
  name,
  status,
  times,
  isSelected,
  interrupt,
  isClosed,
}: {
  box: Box;
  name: string;
  status: NodeState["status"] | undefined;
  times: number;
  isSelected: boolean;
  interrupt: Pause | undefined;
  /** It stands for a subgraph that a click opens. */
  isClosed: boolean;
}) {
  return (
    <div
      className={isFrame ? "graph-frame" : "graph-node"}
      style={{ left: x, top: y, width, height }}
      data-node={id}
      data-status={status}
      data-selected={isSelected || undefined}
      data-edge={id === "__start__" || id === "__end__" || undefined}
      data-pauses={interrupt}
      title={isFrame ? undefined : name}
    >
      <span>{name}</span>
      {isClosed && <ChevronsUpDown size={13} aria-hidden="true" />}
      {!isFrame && times > 1 && <b>×{times}</b>}
    </div>
  );
});
