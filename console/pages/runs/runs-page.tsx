import Activity from "icon:activity";
import GitCompare from "icon:git-compare";
import RotateCcw from "icon:rotate-ccw";
import Square from "icon:square";
import { useCallback, useEffect, useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { useLocation, useSearchParams } from "wouter";
import { compareAddress, withParams } from "../../app/addresses.ts";
import { usePageTitle } from "../../app/news.ts";
import { runAgain, stopRun, useAllRuns, type RunSummary } from "../../api/runs/all-runs.ts";
import { onChange } from "../../api/live/feed.ts";
import { Button } from "../../parts/button.tsx";
import { Empty, Failed, Loading } from "../../parts/states.tsx";
import { notify, notifyError } from "../../parts/toast.tsx";
import { work } from "../../text/inspector/work.ts";
import { Filters } from "./filters.tsx";
import { Histogram } from "./histogram.tsx";
import { filterOf, readChosen, type Chosen } from "../../run/run-filter.ts";
import { RunList } from "./run-list.tsx";
import { isWorking } from "./run-row.tsx";
import "../../style/later.css";

const none: ReadonlySet<string> = new Set();

/** The runs of all threads: filtered by what stands in the address, and as the server has them now. */
export function RunsPage() {
  const { t } = useTranslation(work);
  const [chosen, change] = useChosen();
  const now = useNow();
  const filter = useMemo(() => filterOf(chosen, now), [chosen, now]);
  const query = useAllRuns(filter);
  const runs = useMemo(() => query.data?.pages.flatMap((page) => page.runs) ?? [], [query.data]);
  const [selected, setSelected] = useState(none);
  usePageTitle(t("runs.title"));
  useEffect(() => {
    // What one most likely opens next; where it cannot be loaded now, opening it says so.
    import("../run/run-page.tsx").catch(() => undefined);
  }, []);
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = query;
  const onEnd = useCallback(() => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, fetchNextPage]);
  const toggle = useCallback((id: string) => {
    setSelected((before) => {
      const next = new Set(before);
      if (!next.delete(id)) next.add(id);
      return next;
    });
  }, []);
  const isFiltered = Object.keys(filter).length > 0;
  return (
    <div className="runs">
      <header className="page-head">
        <h1>{t("runs.title")}</h1>
        <Filters chosen={chosen} onChange={change} />
      </header>
      <Histogram
        chosen={chosen}
        filter={filter}
        now={now}
        onSpan={(from, to) =>
          change({ from: new Date(from).toISOString(), to: new Date(to).toISOString(), time: undefined })
        }
      />
      {selected.size > 0 && (
        <Selection runs={runs.filter(({ run_id }) => selected.has(run_id))} onDone={() => setSelected(none)} />
      )}
      {query.isPending && <Loading lines={8} />}
      {query.error !== null && query.data === undefined && (
        <Failed error={query.error} onRetry={() => void query.refetch()} />
      )}
      {query.data !== undefined && runs.length === 0 && (
        <Empty
          icon={<Activity />}
          title={isFiltered ? t("runs.noHits") : t("runs.empty")}
          {...(!isFiltered && { hint: t("runs.emptyHint") })}
        />
      )}
      {runs.length > 0 && (
        <RunList
          runs={runs}
          selected={selected}
          onSelect={toggle}
          onThread={(thread) => change({ thread })}
          onEnd={onEnd}
        />
      )}
    </div>
  );
}

/** What can be done with the runs that are selected. */
function Selection({ runs, onDone }: { runs: readonly RunSummary[]; onDone: () => void }) {
  const { t } = useTranslation(work);
  const [, navigate] = useLocation();
  const working = runs.filter(isWorking);
  // The list has the newest run first.
  const [right, left, more] = runs.map(({ thread_id, run_id }) => ({ threadId: thread_id, runId: run_id }));
  const all = async (act: (run: RunSummary) => Promise<unknown>, which: readonly RunSummary[], said: string) => {
    const results = await Promise.allSettled(which.map(act));
    const failed = results.find((result) => result.status === "rejected");
    if (failed !== undefined) notifyError(failed.reason);
    else notify(said);
    onDone();
  };
  return (
    <div className="run-selection" role="status">
      <span>{t("runs.selected", { count: runs.length })}</span>
      <span className="space" />
      {left !== undefined && more === undefined && (
        <Button size="small" onClick={() => navigate(compareAddress(left, right))}>
          <GitCompare size={14} />
          {t("compare.both")}
        </Button>
      )}
      <Button
        size="small"
        disabled={working.length === 0}
        onClick={() => void all(stopRun, working, t("runs.stopped", { count: working.length }))}
      >
        <Square size={14} />
        {t("runs.stop")}
      </Button>
      <Button size="small" onClick={() => all(runAgain, runs, t("runs.started", { count: runs.length }))}>
        <RotateCcw size={14} />
        {t("runs.again")}
      </Button>
    </div>
  );
}

/** The time as of the last change of a run: a range that ends now moves on with what happens. */
function useNow(): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => onChange(({ type }) => type === "run" && setNow(Date.now())), []);
  return now;
}

/** What stands in the address, and how it is changed. */
function useChosen(): [Chosen, (changes: Record<string, string | undefined>) => void] {
  const [params, setParams] = useSearchParams();
  const chosen = useMemo(() => readChosen(params), [params]);
  const change = (changes: Record<string, string | undefined>): void => {
    setParams((before) => withParams(before, changes));
  };
  return [chosen, change];
}
