import GitFork from "icon:git-fork";
import Microscope from "icon:microscope";
import Play from "icon:play";
import Square from "icon:square";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useLocation } from "wouter";
import { stopRun } from "../../api/runs/all-runs.ts";
import { startGraphRun } from "../../api/graphs.ts";
import type { Run } from "../../api/shapes.ts";
import { useThreadState } from "../../api/runs/states.ts";
import { useThreadQuestions } from "../../api/live/thread-news.ts";
import { forkThread, queryClient } from "../../api/threads.ts";
import type { Trace } from "../../api/runs/trace.ts";
import { runAddress } from "../../app/addresses.ts";
import { visible } from "../../markdown/links.ts";
import { ApprovalCard } from "../../parts/approval/approval-card.tsx";
import { Button } from "../../parts/button.tsx";
import { Channels } from "../../parts/values/channels.tsx";
import { Payload } from "../../parts/values/payload.tsx";
import { RunState } from "../../parts/run-state.tsx";
import { Failed, Loading } from "../../parts/states.tsx";
import { notify, notifyError } from "../../parts/toast.tsx";
import { runStatuses } from "../../run/run-filter.ts";
import { interruptsOf, type Stops } from "./stops.tsx";
import { rowsOfTree, type SpanRow } from "../../run/spans.ts";
import { preciseDuration } from "../../text/time.ts";
import { work } from "../../text/inspector/work.ts";

/** Steps that are shown on this page; the inspector shows all of them. */
const maxSteps = 100;

/** What the newest run of a thread does: its steps, what it asks, and the state it leaves. */
export function RunPanel({
  threadId,
  run,
  trace,
  assistantId,
  stops,
}: {
  threadId: string;
  run: Run;
  trace: Trace;
  assistantId: string;
  stops: Stops;
}) {
  const { t } = useTranslation(work);
  const [, navigate] = useLocation();
  const questions = useThreadQuestions(threadId).data ?? [];
  const state = useThreadState(threadId);
  const status = runStatuses.find((one) => one === run.status) ?? "pending";
  const isOver = status !== "running" && status !== "pending";
  const next = state.data?.next ?? [];
  const isAtBreakpoint = isOver && status === "success" && next.length > 0 && questions.length === 0;
  const address = runAddress(threadId, run.run_id);
  const rows = rowsOfTree(
    trace.spans,
    () => false,
    ({ kind }) => kind === "node" || kind === "model" || kind === "tool",
  );
  const goOn = () =>
    startGraphRun(threadId, { assistant_id: assistantId, input: null, ...interruptsOf(stops) })
      .then(() => queryClient.invalidateQueries({ queryKey: ["thread-runs", threadId] }))
      .catch(notifyError);
  const fork = () =>
    forkThread(threadId).then((copy) => {
      notify(t("graph.forked"));
      navigate(`/g/${encodeURIComponent(assistantId)}?thread=${copy}`);
    }, notifyError);
  return (
    <div className="run-panel">
      <div className="run-panel-head">
        <RunState status={status} />
        <span className="space" />
        {!isOver && (
          <Button size="small" onClick={() => void stopRun({ ...run, run_id: run.run_id }).catch(notifyError)}>
            <Square size={14} />
            {t("run.stop")}
          </Button>
        )}
        <Button size="small" kind="quiet" onClick={fork}>
          <GitFork size={14} />
          {t("graph.fork")}
        </Button>
        <a
          className="button button-plain button-small"
          href={`/console${address}`}
          onClick={(event) => {
            if (event.metaKey || event.ctrlKey) return;
            event.preventDefault();
            navigate(address);
          }}
        >
          <Microscope size={14} />
          {t("graph.inspect")}
        </a>
      </div>
      {questions.length > 0 && <h2>{t("graph.waits")}</h2>}
      {questions.map((question) => (
        <ApprovalCard
          key={question.id}
          approval={question}
          onAnswered={() => void queryClient.invalidateQueries({ queryKey: ["thread-questions", threadId] })}
        />
      ))}
      {isAtBreakpoint && (
        <div className="breakpoint" role="status">
          <span>{t("graph.stopsBefore", { name: visible(next.join(", ")) })}</span>
          <Button size="small" kind="primary" onClick={goOn}>
            <Play size={14} />
            {t("graph.goOn")}
          </Button>
        </div>
      )}
      {trace.error !== undefined && <Failed error={trace.error} />}
      <h2>{t("graph.steps")}</h2>
      <ol className="steps">
        {rows.slice(0, maxSteps).map((row) => (
          <Step key={row.span.id} row={row} threadId={threadId} runId={run.run_id} />
        ))}
      </ol>
      <StateOfThread threadId={threadId} />
    </div>
  );
}

/** The newest state of a thread. */
export function StateOfThread({ threadId }: { threadId: string }) {
  const { t } = useTranslation(work);
  const state = useThreadState(threadId);
  return (
    <>
      <h2>{t("graph.state")}</h2>
      {state.isPending && <Loading lines={2} />}
      {state.error !== null && state.data === undefined && (
        <Failed error={state.error} onRetry={() => void state.refetch()} />
      )}
      {state.data !== undefined && <Channels values={state.data.values} />}
    </>
  );
}

/** A step as a card; opened, it shows what it was given and what it wrote. */
function Step({ row: { span, depth }, threadId, runId }: { row: SpanRow; threadId: string; runId: string }) {
  const { t } = useTranslation(work);
  const [isOpen, setOpen] = useState(false);
  const took = span.start !== null && span.end !== null ? preciseDuration(span.end - span.start) : "";
  const place = { threadId, runId, spanId: span.id };
  return (
    <li className="step" data-status={span.status} data-depth={Math.min(depth, 4)}>
      <button type="button" className="step-head" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <i className="span-mark" data-kind={span.kind} data-status={span.status} />
        <span className="step-name">{visible(span.name)}</span>
        <small>{t(`run.kind.${span.kind}`)}</small>
        <span className="step-took">{took}</span>
      </button>
      {span.error !== null && <p className="problem">{visible(`${span.error.error}: ${span.error.message}`)}</p>}
      {isOpen && (
        <div className="step-body">
          {span.payloads.input && (
            <>
              <h3>{t("run.input")}</h3>
              <Payload {...place} side="input" />
            </>
          )}
          {span.payloads.output && (
            <>
              <h3>{t("run.output")}</h3>
              <Payload {...place} side="output" />
            </>
          )}
          {!span.payloads.input && !span.payloads.output && <p className="hint">{t("run.notKept")}</p>}
        </div>
      )}
    </li>
  );
}
