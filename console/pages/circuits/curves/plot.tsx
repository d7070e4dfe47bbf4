import { useEffect, useEffectEvent, useLayoutEffect, useRef, useState, type PointerEvent, type RefObject } from "react";
import { visible } from "../../../markdown/links.ts";
import { quantity } from "../figures.ts";
import { linearAxis, logAxis, rangeOf } from "./scales.ts";

/** A curve as it is drawn: `hue` is that of its signal, `dash` that of its simulation. */
export interface Curve {
  name: string;
  x: readonly number[];
  y: readonly number[];
  hue: number;
  dash: number;
}

const margin = { left: 68, right: 26, top: 10, bottom: 26 };
const height = 210;
/** Pixels that a press may move and still be one. */
const still = 4;

/** Curves of one unit over one scale, with its axes and two cursors. */
export function Plot({
  label,
  curves,
  unit,
  scale,
  range,
  cursors,
  onPlace,
  onPan,
  onZoom,
}: {
  /** What is drawn, for those who do not see it. */
  label: string;
  curves: readonly Curve[];
  unit: string;
  scale: { unit: string; isLog: boolean };
  /** From where to where the scale is shown. */
  range: readonly [number, number];
  /** The places of the cursors. */
  cursors: readonly [number, number];
  /** Where the drawing was pressed, as a share of its width. */
  onPlace: (share: number) => void;
  /** How far the drawing was dragged since it was pressed, as a share of its width; `undefined`: all of it is shown. */
  onPan: ((share: number, from: readonly [number, number]) => void) | undefined;
  /** By how much what is shown is made wider, and around which share of its width. */
  onZoom: (share: number, factor: number) => void;
}) {
  const frame = useRef<HTMLDivElement>(null);
  const width = useWidth(frame);
  const inner = Math.max(60, width - margin.left - margin.right);
  const tall = height - margin.top - margin.bottom;
  const across = (scale.isLog ? logAxis : linearAxis)(range[0], range[1], inner / 90);
  const [low, high] = rangeOf(curves, range) ?? [0, 1];
  const up = linearAxis(low, high, 5);
  const drag = useDrag(range, inner, onPlace, onPan);
  useWheel(frame, onZoom);
  const left = (value: number): number => margin.left + across.place(value) * inner;
  const top = (value: number): number => margin.top + (1 - up.place(value)) * tall;
  return (
    <div ref={frame} className="plot">
      <svg
        role="img"
        aria-label={visible(label)}
        width={width}
        height={height}
        data-zoomed={onPan !== undefined || undefined}
        {...drag}
      >
        <svg x={margin.left} y={margin.top} width={inner} height={tall} className="plot-curves">
          <g transform={`translate(${-margin.left} ${-margin.top})`}>
            {curves.map(({ name, x, y, hue, dash }, at) => (
              <path key={at} d={pathOf(x, y, left, top)} data-hue={hue} data-dash={dash}>
                <title>{visible(name)}</title>
              </path>
            ))}
            {cursors.map((place, at) => (
              <line
                key={at}
                className="plot-cursor"
                data-cursor={at}
                x1={left(place)}
                x2={left(place)}
                y1={margin.top}
                y2={margin.top + tall}
              />
            ))}
          </g>
        </svg>
        <g className="plot-axis">
          {across.ticks.map((tick) => (
            <g key={tick} transform={`translate(${left(tick)} 0)`}>
              <line y1={margin.top} y2={margin.top + tall} />
              <text y={height - 8} textAnchor="middle">
                {quantity(tick, scale.unit)}
              </text>
            </g>
          ))}
          {up.ticks.map((tick) => (
            <g key={tick} transform={`translate(0 ${top(tick)})`}>
              <line x1={margin.left} x2={margin.left + inner} />
              <text x={margin.left - 6} dy="0.35em" textAnchor="end">
                {quantity(tick, unit)}
              </text>
            </g>
          ))}
          <rect x={margin.left} y={margin.top} width={inner} height={tall} />
        </g>
      </svg>
    </div>
  );
}

/** A press puts a cursor; a drag moves what is shown, as long as that is not all of it. */
function useDrag(
  range: readonly [number, number],
  inner: number,
  onPlace: (share: number) => void,
  onPan: ((share: number, from: readonly [number, number]) => void) | undefined,
) {
  const pressed = useRef<{ x: number; range: readonly [number, number]; hasMoved: boolean }>(undefined);
  const end = () => {
    pressed.current = undefined;
  };
  return {
    onPointerDown: (event: PointerEvent<SVGSVGElement>) => {
      event.currentTarget.setPointerCapture(event.pointerId);
      pressed.current = { x: event.clientX, range, hasMoved: false };
    },
    onPointerMove: ({ clientX }: PointerEvent<SVGSVGElement>) => {
      const { current: press } = pressed;
      if (press === undefined || (!press.hasMoved && Math.abs(clientX - press.x) < still)) return;
      press.hasMoved = true;
      onPan?.((press.x - clientX) / inner, press.range);
    },
    onPointerUp: ({ clientX, currentTarget }: PointerEvent<SVGSVGElement>) => {
      const share = (clientX - currentTarget.getBoundingClientRect().left - margin.left) / inner;
      const isPress = pressed.current?.hasMoved === false || onPan === undefined;
      if (pressed.current !== undefined && isPress && share >= 0 && share <= 1) onPlace(share);
      end();
    },
    onPointerCancel: end,
  };
}

/** The wheel with Ctrl or ⌘, and two fingers on a touchpad, zoom around the pointer; the wheel alone scrolls the page. */
function useWheel(frame: RefObject<HTMLElement | null>, onZoom: (share: number, factor: number) => void): void {
  const zoom = useEffectEvent(onZoom);
  useEffect(() => {
    const { current } = frame;
    if (current === null) return undefined;
    const turn = (event: WheelEvent): void => {
      if (!event.ctrlKey && !event.metaKey) return;
      // Not passive, so that the browser does not zoom the page.
      event.preventDefault();
      const { left, width } = current.getBoundingClientRect();
      const share = (event.clientX - left - margin.left) / Math.max(1, width - margin.left - margin.right);
      zoom(Math.min(1, Math.max(0, share)), 2 ** (event.deltaY / 200));
    };
    current.addEventListener("wheel", turn, { passive: false });
    return () => current.removeEventListener("wheel", turn);
  }, [frame]);
}

/** A curve as the way of a pen; `left` and `top` say where a value is. */
export function pathOf(
  x: readonly number[],
  y: readonly number[],
  left: (value: number) => number,
  top: (value: number) => number,
): string {
  let path = "";
  for (const [at, value] of y.entries()) {
    const place = x[at];
    if (place === undefined || !Number.isFinite(value)) continue;
    path += `${path === "" ? "M" : "L"}${left(place).toFixed(1)} ${top(value).toFixed(1)}`;
  }
  return path;
}

/** The width of an element, also when it changes. */
function useWidth(element: RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(600);
  useLayoutEffect(() => {
    const { current } = element;
    if (current === null) return undefined;
    const look = (): void => setWidth(Math.max(200, Math.floor(current.clientWidth)));
    look();
    const observer = new ResizeObserver(look);
    observer.observe(current);
    return () => observer.disconnect();
  }, [element]);
  return width;
}
