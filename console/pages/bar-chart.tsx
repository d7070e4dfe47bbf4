import { useState, type KeyboardEvent, type PointerEvent } from "react";

/** A bar: what it stands for in words, and how high it is. */
export interface ChartBar {
  key: string;
  label: string;
  value: number;
  /** As a failure. */
  isBad?: boolean;
}

/** Bars beside one another. The pointer, or the arrow keys, choose one of which it is said what it stands for. */
export function BarChart({
  label,
  summary,
  bars,
  ends,
}: {
  label: string;
  /** What is said while no bar is chosen. */
  summary: string;
  bars: readonly ChartBar[];
  /** What stands below its beginning and its end. */
  ends: readonly [string, string];
}) {
  const [at, setAt] = useState<number>();
  const marked = at === undefined ? undefined : bars[at];
  const highest = Math.max(...bars.map(({ value }) => value)) || 1;
  const width = 1_000 / bars.length;
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    setAt(Math.min(bars.length - 1, Math.max(0, (at ?? bars.length) + step)));
  };
  const onPointerMove = (event: PointerEvent) => {
    const box = event.currentTarget.getBoundingClientRect();
    const index = Math.floor(((event.clientX - box.left) / box.width) * bars.length);
    setAt(Math.min(bars.length - 1, Math.max(0, index)));
  };
  return (
    <figure className="histogram bar-chart">
      <figcaption>{marked?.label ?? summary}</figcaption>
      <div
        className="histogram-bars"
        role="slider"
        tabIndex={0}
        aria-label={label}
        aria-valuemin={0}
        aria-valuemax={bars.length - 1}
        aria-valuenow={at ?? bars.length - 1}
        aria-valuetext={marked?.label ?? summary}
        onKeyDown={onKeyDown}
        onBlur={() => setAt(undefined)}
        onPointerMove={onPointerMove}
        onPointerLeave={() => setAt(undefined)}
      >
        <svg viewBox="0 0 1000 100" preserveAspectRatio="none" aria-hidden="true">
          {bars.map(({ key, value, isBad = false }, index) => {
            const height = value === 0 ? 0 : Math.max(2, (value / highest) * 98);
            return (
              <g key={key} data-marked={index === at || undefined}>
                <rect className="bar-back" x={index * width} y={0} width={width} height={100} />
                <rect
                  className={isBad ? "bar-failed" : "bar"}
                  x={index * width + width * 0.1}
                  width={width * 0.8}
                  y={100 - height}
                  height={height}
                />
              </g>
            );
          })}
        </svg>
      </div>
      <div className="histogram-axis" aria-hidden="true">
        <span>{ends[0]}</span>
        <span>{ends[1]}</span>
      </div>
    </figure>
  );
}
