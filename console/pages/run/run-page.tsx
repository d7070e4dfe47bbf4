import { useMemo } from "react";
import { useTranslation } from "react-i18next";
import { useStartedRun, type StartedRun } from "../../api/runs/all-runs.ts";
import { useAssistant } from "../../api/graphs.ts";
import { useThreadNews } from "../../api/live/thread-news.ts";
import { useTrace, type Trace } from "../../api/runs/trace.ts";
import { usePageTitle } from "../../app/news.ts";
import { Failed, Loading } from "../../parts/states.tsx";
import { modelCallNumbers } from "../../run/critical-path.ts";
import { isGone } from "../../thread/open-thread.ts";
import { work } from "../../text/inspector/work.ts";
import { EventsTab } from "./events-tab.tsx";
import { GraphTab } from "./graph-tab.tsx";
import { usePlace, views, type Place } from "./place.ts";
import { RunHead } from "./run-head.tsx";
import { SpanDetails } from "./span-details.tsx";
import { StateTab } from "./state/state-tab.tsx";
import { TimeTab } from "./time-tab.tsx";
import { UsageTab } from "./usage-tab.tsx";
import "../../style/later.css";

/** A run from all sides: its graph, its time, its states, its events, what it used. */
export function RunPage({ threadId, runId }: { threadId: string; runId: string }) {
  const { t } = useTranslation(work);
  const run = useStartedRun(threadId, runId);
  useThreadNews(threadId);
  usePageTitle(t("run.title"));
  // What is deleted while it is looked at is not shown as if it were there.
  if (run.data !== undefined && !isGone(run.error)) return <Run run={run.data} />;
  return (
    <>
      <header className="page-head">
        <h1>{t("run.title")}</h1>
      </header>
      {run.error === null ? (
        <Loading lines={8} />
      ) : (
        <Failed
          error={run.error}
          onRetry={() => void run.refetch()}
          gone={{ title: t("run.gone"), hint: t("run.goneHint") }}
        />
      )}
    </>
  );
}

function Run({ run }: { run: StartedRun }) {
  const { t } = useTranslation(work);
  const { thread_id: threadId, run_id: runId } = run;
  const [place, go] = usePlace(threadId, runId);
  const trace = useTrace(threadId, runId);
  const assistant = useAssistant(run.assistant_id).data;
  const span = place.span === undefined ? undefined : trace.spans.get(place.span);
  const select = useMemo(() => (id: string | undefined) => go({ span: id }), [go]);
  const callNumbers = useMemo(() => modelCallNumbers(trace.spans), [trace.spans]);
  const showsParts = place.view === "graph" || place.view === "time";
  const isOfTrace = showsParts || place.view === "usage";
  return (
    <div className="run-page">
      <RunHead run={run} trace={trace} assistant={assistant} />
      <div className="run-tabs" role="tablist" aria-label={t("run.views")}>
        {views.map((view) => (
          <button
            key={view}
            id={`tab-${view}`}
            type="button"
            role="tab"
            aria-selected={place.view === view}
            aria-controls="run-view"
            tabIndex={place.view === view ? 0 : -1}
            onClick={() => go({ view })}
            onKeyDown={(event) => {
              const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
              if (by === undefined) return;
              const next = views[(views.indexOf(view) + by + views.length) % views.length] ?? view;
              go({ view: next });
              document.getElementById(`tab-${next}`)?.focus();
            }}
          >
            {t(`run.${view}`)}
          </button>
        ))}
      </div>
      {!trace.isLogComplete && <p className="run-note">{t("run.logGone")}</p>}
      {trace.isCut && <p className="run-note">{t("run.cut")}</p>}
      <div className="run-body" id="run-view" role="tabpanel" aria-labelledby={`tab-${place.view}`}>
        <div className="run-view">
          {trace.error !== undefined && isOfTrace && <Failed error={trace.error} />}
          {trace.isPending && isOfTrace && <Loading lines={6} />}
          <View run={run} trace={trace} place={place} go={go} onSelect={select} />
        </div>
        {showsParts && span !== undefined && (
          <SpanDetails
            key={span.id}
            span={span}
            callNumber={callNumbers.get(span.id)}
            threadId={threadId}
            runId={runId}
            onClose={() => select(undefined)}
            onCheckpoint={(checkpoint) => go({ view: "state", checkpoint })}
          />
        )}
      </div>
    </div>
  );
}

/** One side of a run. */
function View({
  run,
  trace,
  place,
  go,
  onSelect,
}: {
  run: StartedRun;
  trace: Trace;
  place: Place;
  go: (changes: Partial<Place>) => void;
  onSelect: (id: string | undefined) => void;
}) {
  const { thread_id: threadId, run_id: runId, assistant_id: assistantId } = run;
  const { spans } = trace;
  // That nothing happened is said only where that is known.
  const isKnown = spans.size > 0 || (!trace.isPending && trace.error === undefined);
  switch (place.view) {
    case "graph":
      return <GraphTab assistantId={assistantId} spans={spans} selected={place.span} onSelect={onSelect} />;
    case "time":
      return isKnown && <TimeTab spans={spans} selected={place.span} onSelect={onSelect} />;
    case "state":
      return <StateTab run={run} place={place} go={go} />;
    case "events":
      return <EventsTab threadId={threadId} runId={runId} />;
    case "usage":
      return isKnown && <UsageTab spans={spans} />;
  }
}
