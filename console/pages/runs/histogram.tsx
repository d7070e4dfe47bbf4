import { useId, useState, type KeyboardEvent, type PointerEvent } from "react";
import { useTranslation } from "react-i18next";
import { useRunHistogram } from "../../api/runs/all-runs.ts";
import { shortMoment } from "../../text/time.ts";
import { work } from "../../text/inspector/work.ts";
import { barsOf, bucketLength, histogramOf, type Bar, type Chosen, type RunFilter } from "../../run/run-filter.ts";

/** How many runs began when, and how many failed. A drag, or the keys, choose a span of time. */
export function Histogram({
  chosen,
  filter,
  now,
  onSpan,
}: {
  chosen: Chosen;
  filter: RunFilter;
  now: number;
  onSpan: (from: number, to: number) => void;
}) {
  const { t } = useTranslation(work);
  const { from, to, bucket } = histogramOf(chosen, now);
  const length = bucketLength[bucket];
  const shown = { ...filter, from: new Date(Math.floor(from / length) * length).toISOString() };
  const bars = barsOf(useRunHistogram(shown, bucket).data ?? [], from, to, length);
  const hint = useId();
  const [at, setAt] = useState<number>();
  const [drag, setDrag] = useState<number>();
  const highest = Math.max(1, ...bars.map(({ count }) => count));
  const marked = at === undefined ? undefined : bars[at];
  const total = bars.reduce((sum, { count }) => sum + count, 0);
  const failed = bars.reduce((sum, bar) => sum + bar.failed, 0);
  const first = bars[0];
  const choose = (one: number, other: number) => {
    const [low, high] = [bars[Math.min(one, other)], bars[Math.max(one, other)]];
    if (low !== undefined && high !== undefined) onSpan(low.at, high.at + length);
  };
  const barAt = (event: PointerEvent): number => {
    const { left, width } = event.currentTarget.getBoundingClientRect();
    return Math.min(bars.length - 1, Math.max(0, Math.floor(((event.clientX - left) / width) * bars.length)));
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
    if (step !== undefined) setAt(Math.min(bars.length - 1, Math.max(0, (at ?? bars.length) + step)));
    else if (event.key === "Enter" && at !== undefined) choose(at, at);
    else return;
    event.preventDefault();
  };
  const labelOf = (bar: Bar) => t("runs.bar", { at: shortMoment(bar.at), count: bar.count, failed: bar.failed });
  const width = 1_000 / bars.length;
  return (
    <figure className="histogram">
      <figcaption>
        <span>{marked === undefined ? t("runs.total", { count: total }) : labelOf(marked)}</span>
        {marked === undefined && failed > 0 && (
          <span className="histogram-failed">{t("runs.failedTotal", { count: failed })}</span>
        )}
      </figcaption>
      <div
        className="histogram-bars"
        role="slider"
        tabIndex={0}
        aria-label={t("runs.histogram")}
        aria-describedby={hint}
        aria-valuemin={0}
        aria-valuemax={bars.length - 1}
        aria-valuenow={at ?? bars.length - 1}
        aria-valuetext={labelOf(marked ?? bars.at(-1) ?? { at: now, count: 0, failed: 0 })}
        onKeyDown={onKeyDown}
        onBlur={() => setAt(undefined)}
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId);
          setDrag(barAt(event));
        }}
        onPointerMove={(event) => setAt(barAt(event))}
        onPointerLeave={() => setAt(undefined)}
        onPointerUp={(event) => {
          if (drag !== undefined) choose(drag, barAt(event));
          setDrag(undefined);
        }}
        onPointerCancel={() => setDrag(undefined)}
      >
        <svg viewBox="0 0 1000 48" preserveAspectRatio="none" aria-hidden="true">
          {bars.map((bar, index) => {
            const isMarked = index === at || (drag !== undefined && at !== undefined && isWithin(index, drag, at));
            const height = (count: number) => (count === 0 ? 0 : Math.max(2, (count / highest) * 46));
            const x = index * width + width * 0.1;
            return (
              <g key={bar.at} data-marked={isMarked || undefined}>
                <rect className="bar-back" x={index * width} y={0} width={width} height={48} />
                <rect className="bar" x={x} width={width * 0.8} y={48 - height(bar.count)} height={height(bar.count)} />
                {bar.failed > 0 && (
                  <rect
                    className="bar-failed"
                    x={x}
                    width={width * 0.8}
                    y={48 - height(bar.failed)}
                    height={height(bar.failed)}
                  />
                )}
              </g>
            );
          })}
        </svg>
      </div>
      <span id={hint} className="visually-hidden">
        {t("runs.histogramHint")}
      </span>
      <div className="histogram-axis" aria-hidden="true">
        <span>{first === undefined ? "" : shortMoment(first.at)}</span>
        <span>{shortMoment(to)}</span>
      </div>
    </figure>
  );
}

function isWithin(index: number, one: number, other: number): boolean {
  return index >= Math.min(one, other) && index <= Math.max(one, other);
}
