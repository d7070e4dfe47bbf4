import Minus from "icon:minus";
import Plus from "icon:plus";
import Maximize from "icon:maximize";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useMemo, useRef, useState, type KeyboardEvent } from "react";
import { useTranslation } from "react-i18next";
import { IconButton } from "../../parts/button.tsx";
import { Empty } from "../../parts/states.tsx";
import { criticalPath, modelCallNumbers, usedBy, type Used } from "../../run/critical-path.ts";
import { placeOf, rowsOfTree, timeline, type Span, type SpanRow, type Stretch } from "../../run/spans.ts";
import { work } from "../../text/inspector/work.ts";
import { Bar, Ruler } from "./bars.tsx";

const rowHeight = 30;
/** How much wider the bars get with each step of the zoom. */
const zoomStep = 2;
const widest = 4_096;
const none: ReadonlySet<string> = new Set();

/** The parts of a run as bars over time, one row each; only the rows that are seen are drawn. */
export function TimeTab({
  spans,
  selected,
  onSelect,
}: {
  spans: ReadonlyMap<string, Span>;
  selected: string | undefined;
  onSelect: (span: string) => void;
}) {
  const { t } = useTranslation(work);
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const [isBrief, setBrief] = useState(false);
  const [squeezes, setSqueezes] = useState(true);
  const [marksPath, setMarksPath] = useState(false);
  const [zoom, setZoom] = useState(1);
  const now = useNow(spans);
  const rows = useMemo(
    () =>
      rowsOfTree(
        spans,
        (id) => closed.has(id),
        isBrief ? ({ kind }) => kind === "run" || kind === "step" || kind === "node" || kind === "wait" : undefined,
      ),
    [spans, closed, isBrief],
  );
  const path = useMemo(() => (marksPath ? criticalPath(spans, now) : none), [marksPath, now, spans]);
  const used = useMemo(() => usedBy(spans), [spans]);
  const callNumbers = useMemo(() => modelCallNumbers(spans), [spans]);
  const squeezed = useMemo(() => timeline(spans.values(), now, true), [spans, now]);
  const hasIdle = squeezed.some(({ isIdle }) => isIdle);
  const stretches = useMemo(
    () => (squeezes || !hasIdle ? squeezed : timeline(spans.values(), now, false)),
    [spans, now, squeezes, hasIdle, squeezed],
  );
  const toggle = (id: string) => {
    const next = new Set(closed);
    if (!next.delete(id)) next.add(id);
    setClosed(next);
  };
  if (rows.length === 0) return <Empty title={t("run.nothing")} />;
  return (
    <div className="time-tab">
      <div className="time-tools">
        <div className="segments" role="group" aria-label={t("run.level")}>
          <button type="button" aria-pressed={isBrief} onClick={() => setBrief(true)}>
            {t("run.steps")}
          </button>
          <button type="button" aria-pressed={!isBrief} onClick={() => setBrief(false)}>
            {t("run.all")}
          </button>
        </div>
        {hasIdle && (
          <label className="time-check">
            <input type="checkbox" checked={squeezes} onChange={({ target }) => setSqueezes(target.checked)} />
            {t("run.squeeze")}
          </label>
        )}
        <label className="time-check">
          <input type="checkbox" checked={marksPath} onChange={({ target }) => setMarksPath(target.checked)} />
          {t("run.critical")}
        </label>
        <span className="hint">{t("run.spanCount", { count: rows.length })}</span>
        <span className="space" />
        <span className="time-zoom">
          <IconButton
            label={t("run.zoomOut")}
            disabled={zoom <= 1}
            onClick={() => setZoom(Math.max(1, zoom / zoomStep))}
          >
            <Minus size={16} />
          </IconButton>
          <IconButton
            label={t("run.zoomIn")}
            disabled={zoom >= widest}
            onClick={() => setZoom(Math.min(widest, zoom * zoomStep))}
          >
            <Plus size={16} />
          </IconButton>
          <IconButton label={t("run.zoomAll")} disabled={zoom === 1} onClick={() => setZoom(1)}>
            <Maximize size={16} />
          </IconButton>
        </span>
      </div>
      <Waterfall
        rows={rows}
        path={path}
        used={used}
        callNumbers={callNumbers}
        stretches={stretches}
        zoom={zoom}
        now={now}
        closed={closed}
        selected={selected}
        onSelect={onSelect}
        onToggle={toggle}
      />
    </div>
  );
}

/** The time to which open bars reach; it goes on as long as something is open. */
function useNow(spans: ReadonlyMap<string, Span>): number {
  const isOpen = useMemo(() => [...spans.values()].some(({ end, start }) => end === null && start !== null), [spans]);
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    if (!isOpen) return undefined;
    const timer = setInterval(() => setNow(Date.now()), 500);
    return () => clearInterval(timer);
  }, [isOpen]);
  return now;
}

function Waterfall({
  rows,
  path,
  used,
  callNumbers,
  stretches,
  zoom,
  now,
  closed,
  selected,
  onSelect,
  onToggle,
}: {
  rows: readonly SpanRow[];
  path: ReadonlySet<string>;
  used: ReadonlyMap<string, Used>;
  callNumbers: ReadonlyMap<string, number>;
  stretches: readonly Stretch[];
  zoom: number;
  now: number;
  closed: ReadonlySet<string>;
  selected: string | undefined;
  onSelect: (span: string) => void;
  onToggle: (span: string) => void;
}) {
  const { t } = useTranslation(work);
  const scroller = useRef<HTMLDivElement>(null);
  const [place, setPlace] = useState(0);
  const list = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 12,
  });
  // Where the zoomed bars are scrolled to, as a part of their whole width.
  const from = Math.min(place, 1 - 1 / zoom);
  const at = (time: number) => (placeOf(stretches, time) - from) * zoom * 100;
  const chosen = rows.findIndex(({ span }) => span.id === selected);
  const shown = useRef<string>(undefined);
  useEffect(() => {
    // Only another choice moves the list.
    if (chosen < 0 || selected === shown.current) return;
    shown.current = selected;
    list.scrollToIndex(chosen, { align: "auto" });
  }, [chosen, list, selected]);
  const onKeyDown = (event: KeyboardEvent) => {
    const row = rows[chosen];
    const by = { ArrowDown: 1, ArrowUp: -1, PageDown: 20, PageUp: -20 }[event.key];
    if (by !== undefined) {
      const next = rows[Math.min(rows.length - 1, Math.max(0, chosen + by))];
      if (next !== undefined) onSelect(next.span.id);
    } else if (event.key === "Home" && rows[0] !== undefined) onSelect(rows[0].span.id);
    else if (event.key === "End") onSelect(rows.at(-1)?.span.id ?? "");
    else if (row !== undefined && event.key === "ArrowLeft" && !closed.has(row.span.id)) onToggle(row.span.id);
    else if (row !== undefined && event.key === "ArrowRight" && closed.has(row.span.id)) onToggle(row.span.id);
    else return;
    event.preventDefault();
  };
  return (
    <>
      <Ruler stretches={stretches} from={from} zoom={zoom} />
      {zoom > 1 && (
        <input
          className="time-pan"
          type="range"
          min={0}
          max={1000}
          aria-label={t("run.time")}
          value={Math.round((from / (1 - 1 / zoom)) * 1000)}
          onChange={({ target }) => setPlace((Number(target.value) / 1000) * (1 - 1 / zoom))}
        />
      )}
      <div
        className="time-scroll"
        ref={scroller}
        role="tree"
        tabIndex={0}
        aria-label={t("run.spans")}
        aria-activedescendant={chosen >= 0 ? `span-row-${chosen}` : undefined}
        onKeyDown={onKeyDown}
      >
        <div role="presentation" style={{ height: list.getTotalSize(), position: "relative" }}>
          {list.getVirtualItems().map((item) => {
            const row = rows[item.index];
            if (row === undefined) return null;
            return (
              <Bar
                key={row.span.id}
                row={row}
                isCritical={path.has(row.span.id)}
                used={used.get(row.span.id)}
                callNumber={callNumbers.get(row.span.id)}
                index={item.index}
                top={item.start}
                at={at}
                now={now}
                isClosed={closed.has(row.span.id)}
                isSelected={item.index === chosen}
                onSelect={onSelect}
                onToggle={onToggle}
              />
            );
          })}
        </div>
      </div>
    </>
  );
}
