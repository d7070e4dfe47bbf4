import { useVirtualizer } from "@tanstack/react-virtual";
import { useCallback, useEffect, useMemo, useRef } from "react";
import { useTranslation } from "react-i18next";
import { useCommands, type Command } from "../../app/commands.ts";
import type { RunSummary } from "../../api/runs/all-runs.ts";
import { useThreads } from "../../api/threads.ts";
import { rowsOf } from "../../run/run-filter.ts";
import { ageGroup, dayName } from "../../text/time.ts";
import { work } from "../../text/inspector/work.ts";
import { RunRow } from "./run-row.tsx";

/** The list itself; only what is seen is drawn. */
export function RunList({
  runs,
  selected,
  onSelect,
  onThread,
  onEnd,
}: {
  runs: readonly RunSummary[];
  selected: ReadonlySet<string>;
  onSelect: (run: string) => void;
  onThread: (thread: string) => void;
  onEnd: () => void;
}) {
  const { t } = useTranslation(work);
  const scroller = useRef<HTMLDivElement>(null);
  const rows = useMemo(() => rowsOf(runs), [runs]);
  const known = useThreads().data;
  const threads = useMemo(
    () => new Map(known?.pages.flatMap((page) => page.threads).map((thread) => [thread.thread_id, thread])),
    [known],
  );
  // The newest run of a thread that waits is the one that has asked.
  const newest = useMemo(() => new Map(runs.toReversed().map((run) => [run.thread_id, run.run_id])), [runs]);
  const getItemKey = useCallback((index: number) => rows[index]?.key ?? index, [rows]);
  const list = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: (index) => (rows[index]?.kind === "day" ? 36 : 48),
    getItemKey,
    overscan: 10,
  });
  const items = list.getVirtualItems();
  const last = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (last >= rows.length - 15) onEnd();
  }, [last, rows.length, onEnd]);
  useRowKeys(onSelect);
  const dayText = (at: string) => {
    const group = ageGroup(at);
    return group === "today" || group === "yesterday" ? t(`runs.${group}`) : dayName(at);
  };
  return (
    <div className="run-scroll" ref={scroller} role="table" aria-label={t("runs.list")} aria-rowcount={runs.length}>
      <div role="rowgroup">
        <div role="row" className="run-row run-heads">
          <span role="columnheader" className="run-check">
            <span className="visually-hidden">{t("runs.select")}</span>
          </span>
          <span role="columnheader">{t("runs.state")}</span>
          <span role="columnheader">{t("runs.graph")}</span>
          <span role="columnheader" className="run-cell-by">
            {t("runs.startedBy")}
          </span>
          <span role="columnheader">{t("runs.when")}</span>
          <span role="columnheader" className="run-cell-waited">
            {t("runs.waited")}
          </span>
          <span role="columnheader">{t("runs.took")}</span>
          <span role="columnheader" className="run-cell-tokens">
            {t("runs.tokens")}
          </span>
          <span role="columnheader" className="run-cell-cost">
            {t("run.cost")}
          </span>
          <span role="columnheader" className="run-cell-problem">
            {t("runs.problem")}
          </span>
          <span role="columnheader">
            <span className="visually-hidden">{t("runs.actions")}</span>
          </span>
        </div>
      </div>
      <div role="rowgroup" style={{ height: list.getTotalSize(), position: "relative" }}>
        {items.map((item) => {
          const row = rows[item.index];
          const style = { position: "absolute", insetInline: 0, transform: `translateY(${item.start}px)` } as const;
          if (row === undefined) return null;
          if (row.kind === "day") {
            return (
              <div key={item.key} role="row" style={style}>
                <span role="cell" className="run-day">
                  {dayText(row.at)}
                </span>
              </div>
            );
          }
          return (
            <div key={item.key} role="presentation" style={style}>
              <RunRow
                run={row.run}
                threadName={threads.get(row.run.thread_id)?.name}
                waits={
                  threads.get(row.run.thread_id)?.status === "interrupted" &&
                  newest.get(row.run.thread_id) === row.run.run_id
                }
                isSelected={selected.has(row.run.run_id)}
                onSelect={() => onSelect(row.run.run_id)}
                onThread={() => onThread(row.run.thread_id)}
              />
            </div>
          );
        })}
      </div>
    </div>
  );
}

/** `x` marks the run that has the focus; `j` and `k` go from run to run as in every list, and Enter opens. */
function useRowKeys(onSelect: (run: string) => void): void {
  const { t } = useTranslation(work);
  useCommands(
    useMemo((): Command[] => {
      const mark = () => {
        const id = document.activeElement?.closest<HTMLElement>(".run-row")?.dataset["run"];
        if (id !== undefined) onSelect(id);
      };
      return [{ id: "mark-run", group: "here", label: t("runs.mark"), keys: "x", run: mark }];
    }, [t, onSelect]),
  );
}
