import ChevronRight from "icon:chevron-right";
import { useTranslation } from "react-i18next";
import { timeMarks, type Span, type SpanRow, type Stretch } from "../../run/spans.ts";
import type { Used } from "../../run/critical-path.ts";
import { count, longTime, money, preciseDuration } from "../../text/time.ts";
import { useSpanTitle } from "./span-title.ts";
import { work } from "../../text/inspector/work.ts";

/** A part of the run as a row: its name, and a bar where it stands in time. */
export function Bar({
  row: { span, depth, children },
  isCritical,
  used,
  callNumber,
  index,
  top,
  at,
  now,
  isClosed,
  isSelected,
  onSelect,
  onToggle,
}: {
  row: SpanRow;
  /** The run has waited for it. */
  isCritical: boolean;
  /** By the model calls in it. */
  used: Used | undefined;
  /** Of a model call, where there are several. */
  callNumber: number | undefined;
  index: number;
  top: number;
  at: (time: number) => number;
  now: number;
  isClosed: boolean;
  isSelected: boolean;
  onSelect: (span: string) => void;
  onToggle: (span: string) => void;
}) {
  const { t } = useTranslation(work);
  const start = span.start ?? span.end;
  const end = span.end ?? now;
  const left = start === null ? 0 : Math.max(-1, at(start));
  const right = start === null ? 0 : Math.min(101, at(end));
  const title = useSpanTitle(span, callNumber);
  const took = span.start === null ? "" : preciseDuration(end - span.start);
  const about = useAbout(span, title, took);
  const first = span.first_token === null ? undefined : Math.max(left, Math.min(right, at(span.first_token)));
  return (
    <div
      id={`span-row-${index}`}
      className="span-row"
      role="treeitem"
      tabIndex={-1}
      aria-level={depth + 1}
      aria-selected={isSelected}
      aria-expanded={children > 0 ? !isClosed : undefined}
      data-selected={isSelected || undefined}
      data-critical={isCritical || undefined}
      style={{ transform: `translateY(${top}px)` }}
      onClick={() => onSelect(span.id)}
      onKeyDown={({ key }) => key === "Enter" && onSelect(span.id)}
    >
      <span className="span-name" style={{ paddingInlineStart: Math.min(depth, 12) * 14 + 6 }}>
        {children > 0 ? (
          <span
            className="span-toggle"
            data-open={!isClosed || undefined}
            role="presentation"
            onClick={(event) => {
              event.stopPropagation();
              onToggle(span.id);
            }}
          >
            <ChevronRight size={13} />
          </span>
        ) : (
          <span className="span-toggle" />
        )}
        <i className="span-mark" data-kind={span.kind} data-status={span.status} />
        <span className="visually-hidden">{t(`run.kind.${span.kind}`)}</span>
        <span className="span-text">{title}</span>
        {isCritical && <span className="visually-hidden">{t("run.critical")}</span>}
        {used !== undefined && (
          <small className="span-used" title={t("run.used", { tokens: count(used.tokens) })}>
            {used.cost === null ? t("run.used", { tokens: count(used.tokens) }) : money(used.cost)}
          </small>
        )}
        <small className="span-took">{took}</small>
      </span>
      <span className="span-track" title={about}>
        {start !== null && right >= 0 && left <= 100 && (
          <span
            className="span-bar"
            data-kind={span.kind}
            data-status={span.status}
            data-open={span.end === null || undefined}
            style={{ left: `${left}%`, width: `max(3px, ${right - left}%)` }}
          />
        )}
        {first !== undefined && <span className="span-first" style={{ left: `${left}%`, width: `${first - left}%` }} />}
      </span>
    </div>
  );
}

/** What a bar says when it is pointed at. */
function useAbout({ start }: Span, title: string, took: string): string {
  const { t } = useTranslation(work);
  if (start === null) return title;
  const began = longTime(new Date(start).toISOString());
  return `${title}\n${t("run.started")}: ${began}\n${t("run.duration")}: ${took}`;
}

/** The time above the bars, and where idle time was left out. */
export function Ruler({ stretches, from, zoom }: { stretches: readonly Stretch[]; from: number; zoom: number }) {
  const { t } = useTranslation(work);
  return (
    <div className="time-ruler" aria-hidden="true">
      <span className="span-name">
        <span className="span-text" />
        <small className="span-used">{t("run.cost")}</small>
        <small className="span-took">{t("run.duration")}</small>
      </span>
      <span className="time-ruler-track">
        {timeMarks(stretches, from, zoom).map(({ at, milliseconds }) => (
          <span key={milliseconds} style={{ left: `${at * 100}%` }}>
            {preciseDuration(milliseconds)}
          </span>
        ))}
        {stretches
          .filter(({ isIdle }) => isIdle)
          .slice(0, 50)
          .map(({ from: idleFrom, to, at, width }) => (
            <i
              key={idleFrom}
              title={t("run.left", { time: preciseDuration(to - idleFrom) })}
              style={{ left: `${(at - from) * zoom * 100}%`, width: `${width * zoom * 100}%` }}
            />
          ))}
      </span>
    </div>
  );
}
