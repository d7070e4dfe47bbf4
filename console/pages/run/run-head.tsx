import EllipsisVertical from "icon:ellipsis-vertical";
import Copy from "icon:copy";
import MessageSquare from "icon:message-square";
import Pencil from "icon:pencil";
import RotateCcw from "icon:rotate-ccw";
import Square from "icon:square";
import Workflow from "icon:workflow";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useLocation } from "wouter";
import { runAgain, stopRun, type StartedRun } from "../../api/runs/all-runs.ts";
import type { FullAssistant } from "../../api/graphs.ts";
import type { Trace } from "../../api/runs/trace.ts";
import { graphAddress, runAddress, threadAddress } from "../../app/addresses.ts";
import { visible } from "../../markdown/links.ts";
import { Button } from "../../parts/button.tsx";
import { Menu } from "../../parts/menu.tsx";
import { RunState, Took } from "../../parts/run-state.tsx";
import { notifyError } from "../../parts/toast.tsx";
import { runStatuses } from "../../run/run-filter.ts";
import { count, longTime, preciseDuration, shortTime } from "../../text/time.ts";
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
  const error = trace.spans.get(run.run_id)?.error;
  const again = () => void runAgain(run).then((id) => navigate(runAddress(run.thread_id, id)), notifyError);
  const name = assistant?.graph_id ?? run.assistant_id;
  return (
    <header className="run-head">
      <div className="run-head-line">
        <h1>{visible(name)}</h1>
        {assistant !== undefined && assistant.name !== assistant.graph_id && (
          <span className="chip">{visible(assistant.name)}</span>
        )}
        <RunState status={status} />
        <time dateTime={run.created_at} title={longTime(run.created_at)} className="hint">
          {shortTime(run.created_at)}
        </time>
        <span className="space" />
        {isOver ? (
          <Button size="small" onClick={again}>
            <RotateCcw size={14} />
            {t("run.again")}
          </Button>
        ) : (
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
            "line",
            {
              label: t("run.openChat"),
              icon: <MessageSquare size={16} />,
              onSelect: () => navigate(threadAddress(run.thread_id)),
            },
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
      {error !== undefined && error !== null && (
        <p className="problem" role="alert">
          {visible(`${error.error}: ${error.message}`)}
        </p>
      )}
      {isEditing && <EditInput run={run} onClose={() => setEditing(false)} />}
    </header>
  );
}

/** How long it took, and what it used. */
function Facts({ run, trace, isOver }: { run: StartedRun; trace: Trace; isOver: boolean }) {
  const { t } = useTranslation(work);
  const { usage, cost } = trace.spans.get(run.run_id) ?? { usage: null, cost: null };
  const { start = null, end = null } = trace.spans.get(`${run.run_id}:queue`) ?? {};
  const calls = { model: 0, tool: 0 };
  for (const { kind } of trace.spans.values()) if (kind === "model" || kind === "tool") calls[kind] += 1;
  return (
    <dl className="run-facts">
      <Fact name={t("run.duration")}>
        <Took from={run.created_at} to={isOver ? run.updated_at : null} />
      </Fact>
      {start !== null && end !== null && <Fact name={t("run.queue")}>{preciseDuration(end - start)}</Fact>}
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
      {cost !== null && <Fact name={t("run.cost")}>{cost.toPrecision(3)}</Fact>}
    </dl>
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
