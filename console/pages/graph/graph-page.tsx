import { useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { useSearchParams } from "wouter";
import { ApiError } from "../../api/client.ts";
import { useAssistant, useDrawing, useSchemas, type FullAssistant } from "../../api/graphs.ts";
import { useThreadNews, useThreadRuns } from "../../api/live/thread-news.ts";
import { useTrace } from "../../api/runs/trace.ts";
import { usePageTitle } from "../../app/news.ts";
import { visible } from "../../markdown/links.ts";
import { GraphView } from "../../parts/graph/graph-view.tsx";
import { Failed, Loading } from "../../parts/states.tsx";
import { nodeStates } from "../../run/spans.ts";
import { isGone } from "../../thread/open-thread.ts";
import { work } from "../../text/inspector/work.ts";
import { AssistantHead } from "./assistant-head.tsx";
import { RunPanel, StateOfThread } from "./run-panel.tsx";
import { StartPanel } from "./start-panel.tsx";
import { noStops, stoppable, withStop, type Stops } from "./stops.tsx";
import "../../style/later.css";

/** Any graph: what it takes, its drawing, and what a run of it does. */
export function GraphPage({ assistantId }: { assistantId: string }) {
  const { t } = useTranslation(work);
  const assistant = useAssistant(assistantId);
  // What the page shows is asked for together.
  useDrawing(assistantId);
  useSchemas(assistantId);
  usePageTitle(assistant.data?.name);
  if (assistant.data !== undefined && !isGone(assistant.error))
    return <Graph assistant={assistant.data} address={assistantId} />;
  const hint = assistant.error instanceof ApiError ? assistant.error.message : "";
  return (
    <>
      <header className="page-head">
        <h1>{t("graph.title")}</h1>
      </header>
      {assistant.error === null ? (
        <Loading lines={8} />
      ) : (
        <Failed
          error={assistant.error}
          onRetry={() => void assistant.refetch()}
          gone={{ title: t("graph.gone"), hint }}
        />
      )}
    </>
  );
}

/** `address`: what the assistant is called in the address, its id or its graph. */
function Graph({ assistant, address }: { assistant: FullAssistant; address: string }) {
  const { t } = useTranslation(work);
  const id = assistant.assistant_id;
  const [params, setParams] = useSearchParams();
  const thread = params.get("thread") ?? undefined;
  const drawing = useDrawing(address);
  const schemas = useSchemas(address);
  const [context, setContext] = useState<unknown>(assistant.context ?? undefined);
  const [stops, setStops] = useState<Stops>(noStops);
  // The version whose context stands in the form; the one that is run by others may be another.
  const [version, setVersion] = useState(assistant.version);
  useThreadNews(thread);
  const runs = useThreadRuns(thread);
  const isThreadGone = isGone(runs.error);
  const run = isThreadGone ? undefined : runs.data?.[0];
  const trace = useTrace(thread, run?.run_id);
  const nodes = useMemo(() => stoppable(drawing.data), [drawing.data]);
  const states = useMemo(() => nodeStates(trace.spans.values()), [trace.spans]);
  return (
    <div className="graph-page">
      <AssistantHead
        assistant={assistant}
        context={context}
        version={version}
        onVersion={(next, itsContext) => {
          setVersion(next);
          setContext(itsContext);
        }}
      />
      <div className="graph-columns">
        <section className="graph-start" aria-label={t("graph.input")}>
          {schemas.error !== null && <Failed error={schemas.error} onRetry={() => void schemas.refetch()} />}
          {schemas.isPending ? (
            <Loading lines={5} />
          ) : (
            <StartPanel
              key={`${id} ${version}`}
              assistant={assistant}
              schemas={schemas.data}
              nodes={nodes}
              thread={thread}
              stops={stops}
              onStops={setStops}
              context={context}
              onContext={setContext}
              onThread={(next) =>
                setParams((before) => {
                  const changed = new URLSearchParams(before);
                  if (next === undefined) changed.delete("thread");
                  else changed.set("thread", next);
                  return changed;
                })
              }
            />
          )}
        </section>
        <section className="graph-stage" aria-label={t("graph.steps")}>
          <div className="graph-drawing">
            {drawing.isPending && <Loading lines={4} />}
            {drawing.error !== null && (
              <Failed
                error={drawing.error}
                onRetry={() => void drawing.refetch()}
                gone={{ title: t("graph.noDrawing"), hint: "" }}
              />
            )}
            {drawing.data !== undefined && (
              <GraphView
                drawing={drawing.data}
                label={t("graph.drawing", { name: visible(assistant.name) })}
                states={states}
                pauses={stops}
                onSelect={(node) => nodes.includes(node) && setStops(withStop(stops, node, "before"))}
              />
            )}
          </div>
          {thread === undefined && <p className="hint graph-hint">{t("graph.stepsHint")}</p>}
          {isThreadGone && <Failed error={runs.error} gone={{ title: t("graph.threadGone"), hint: "" }} />}
          {thread !== undefined && run === undefined && !isThreadGone && (
            <div className="run-panel">
              <StateOfThread threadId={thread} />
            </div>
          )}
          {thread !== undefined && run !== undefined && (
            <RunPanel threadId={thread} run={run} trace={trace} assistantId={id} stops={stops} />
          )}
        </section>
      </div>
    </div>
  );
}
