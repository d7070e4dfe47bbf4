import EllipsisVertical from "icon:ellipsis-vertical";
import Copy from "icon:copy";
import GitCompare from "icon:git-compare";
import MessageSquare from "icon:message-square";
import Pencil from "icon:pencil";
import RotateCcw from "icon:rotate-ccw";
import Square from "icon:square";
import Workflow from "icon:workflow";
import { useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { useLocation } from "wouter";
import { runAgain, stopRun, useRunSummary, type StartedRun } from "../../api/runs/all-runs.ts";
import type { FullAssistant } from "../../api/graphs.ts";
import { useBeginning } from "../../api/runs/states.ts";
import type { Trace } from "../../api/runs/trace.ts";
import { useThreadDetails } from "../../api/threads.ts";
import { compareAddress, graphAddress, runAddress, threadAddress } from "../../app/addresses.ts";
import { visible } from "../../markdown/links.ts";
import { Button } from "../../parts/button.tsx";
import { Menu } from "../../parts/menu.tsx";
import { RunState, Took } from "../../parts/run-state.tsx";
import { notifyError } from "../../parts/toast.tsx";
import { Ago } from "../../parts/values/ago.tsx";
import { runStatuses } from "../../run/run-filter.ts";
import { count, money, preciseDuration } from "../../text/time.ts";
import { work } from "../../text/inspector/work.ts";
import { EditInput } from "./edit-input.tsx";

/** What a run is, how it stands, what it took and used, and what can be done with it. */
export function RunHead({
  run,
  trace,
  assistant,
}: {
  run: StartedRun;
  trace: Trace;
  assistant: FullAssistant | undefined;
}) {
  const { t } = useTranslation(work);
  const [, navigate] = useLocation();
  const [isEditing, setEditing] = useState(false);
  const status = runStatuses.find((one) => one === run.status) ?? "pending";
  const isOver = status !== "running" && status !== "pending";
  const error = trace.spans.get(run.run_id)?.error ?? undefined;
  const again = () => runAgain(run).then((id) => navigate(runAddress(run.thread_id, id)), notifyError);
  const name = assistant?.graph_id ?? run.assistant_id;
  return (
    <header className="run-head">
      <div className="run-head-line">
        <h1>{visible(name)}</h1>
        {assistant !== undefined && assistant.name !== assistant.graph_id && (
          <span className="chip">{visible(assistant.name)}</span>
        )}
        <RunState status={status} />
        <Ago at={run.created_at} className="hint" />
        <span className="space" />
        <ToChat threadId={run.thread_id} />
        {isOver && error === undefined && (
          <Button size="small" onClick={again}>
            <RotateCcw size={14} />
            {t("run.again")}
          </Button>
        )}
        {!isOver && (
          <Button size="small" onClick={() => void stopRun(run).catch(notifyError)}>
            <Square size={14} />
            {t("run.stop")}
          </Button>
        )}
        <Menu
          label={t("run.actions")}
          button={<EllipsisVertical size={18} />}
          entries={[
            { label: t("run.editAgain"), icon: <Pencil size={16} />, onSelect: () => setEditing(true) },
            {
              label: t("compare.with"),
              icon: <GitCompare size={16} />,
              onSelect: () => navigate(compareAddress({ threadId: run.thread_id, runId: run.run_id })),
            },
            "line",
            {
              label: t("run.openGraph"),
              icon: <Workflow size={16} />,
              onSelect: () => navigate(`${graphAddress(run.assistant_id)}?thread=${run.thread_id}`),
            },
            {
              label: t("run.copyId"),
              icon: <Copy size={16} />,
              onSelect: () => void navigator.clipboard.writeText(run.run_id).catch(notifyError),
            },
          ]}
        />
      </div>
      <Facts run={run} trace={trace} isOver={isOver} />
      {error !== undefined && (
        <div className="row-between">
          <p className="problem" role="alert">
            {visible(`${error.error}: ${error.message}`)}
          </p>
          <Button size="small" onClick={again}>
            {t("run.again")}
          </Button>
        </div>
      )}
      {isEditing && <EditInput run={run} onClose={() => setEditing(false)} />}
    </header>
  );
}

/** Leads to the chat of the run, which says what was asked. */
function ToChat({ threadId }: { threadId: string }) {
  const { t } = useTranslation(work);
  const [, navigate] = useLocation();
  const name = visible(useThreadDetails(threadId).data?.name ?? "");
  return (
    <Button
      className="run-chat"
      size="small"
      title={t("run.openChat")}
      onClick={() => navigate(threadAddress(threadId))}
    >
      <MessageSquare size={14} />
      <span className="span-text">{name === "" ? t("run.openChat") : name}</span>
    </Button>
  );
}

/** How long it took, what it used, and where it comes from. */
function Facts({ run, trace, isOver }: { run: StartedRun; trace: Trace; isOver: boolean }) {
  const { t } = useTranslation(work);
  const { start = null, end = null } = trace.spans.get(`${run.run_id}:queue`) ?? {};
  return (
    <dl className="run-facts">
      <Fact name={t("run.duration")}>
        <Took from={run.created_at} to={isOver ? run.updated_at : null} />
      </Fact>
      {start !== null && end !== null && <Fact name={t("run.queue")}>{preciseDuration(end - start)}</Fact>}
      <CallFacts run={run} spans={trace.spans} />
      <OriginFacts run={run} />
    </dl>
  );
}

/** What the calls of a run were, and what they used. */
function CallFacts({ run, spans }: { run: StartedRun; spans: Trace["spans"] }) {
  const { t } = useTranslation(work);
  const { usage, cost } = spans.get(run.run_id) ?? { usage: null, cost: null };
  const { calls, models, first } = useMemo(() => callsOf(spans), [spans]);
  return (
    <>
      {models.length > 0 && <Fact name={t("run.model")}>{visible(models.join(", "))}</Fact>}
      {first !== undefined && (
        <Fact name={t("run.firstToken")}>{preciseDuration(first - Date.parse(run.created_at))}</Fact>
      )}
      {calls.model > 0 && <Fact name={t("run.modelCalls")}>{count(calls.model)}</Fact>}
      {calls.tool > 0 && <Fact name={t("run.toolCalls")}>{count(calls.tool)}</Fact>}
      {usage !== null && (
        <>
          <Fact name={t("run.tokensIn")}>
            {count(usage.input_tokens)}
            {usage.cached_tokens > 0 && <small> {t("run.cached", { count: usage.cached_tokens })}</small>}
          </Fact>
          <Fact name={t("run.tokensOut")}>{count(usage.output_tokens)}</Fact>
        </>
      )}
      {cost !== null && <Fact name={t("run.cost")}>{money(cost)}</Fact>}
    </>
  );
}

/** Which models were asked, how many calls there were, and when the first word came. */
function callsOf(spans: Trace["spans"]) {
  const calls = { model: 0, tool: 0 };
  const models = new Set<string>();
  let first: number | undefined;
  for (const { kind, model, first_token } of spans.values()) {
    if (kind === "model" || kind === "tool") calls[kind] += 1;
    if (model !== null) models.add(model);
    if (first_token !== null) first = Math.min(first ?? Infinity, first_token);
  }
  return { calls, models: [...models], first };
}

/** Who started a run, from where, and how often it had to begin. */
function OriginFacts({ run }: { run: StartedRun }) {
  const { t } = useTranslation(work);
  const summary = useRunSummary(run).data;
  const beginning = useBeginning(run.thread_id, run.run_id).data;
  if (!summary) return null;
  const { attempts, started_by: by } = summary;
  const kind = { client: t("runs.byClient"), cron: t("runs.byCron"), agent: t("runs.byAgent") }[by.kind];
  return (
    <>
      {attempts > 1 && <Fact name={t("run.attempts")}>{count(attempts)}</Fact>}
      <Fact name={t("run.startedBy")}>{by.id === null ? kind : `${kind} ${visible(by.id)}`}</Fact>
      {beginning && <Fact name={t("run.began")}>…{beginning.slice(-8)}</Fact>}
    </>
  );
}

function Fact({ name, children }: { name: string; children: React.ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
