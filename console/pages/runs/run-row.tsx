import EllipsisVertical from "icon:ellipsis-vertical";
import ListFilter from "icon:list-filter";
import MessageSquare from "icon:message-square";
import Copy from "icon:copy";
import RotateCcw from "icon:rotate-ccw";
import Square from "icon:square";
import { useTranslation } from "react-i18next";
import { useLocation } from "wouter";
import { runAddress, threadAddress } from "../../app/addresses.ts";
import { runAgain, stopRun, type RunSummary } from "../../api/runs/all-runs.ts";
import { visible } from "../../markdown/links.ts";
import { Menu } from "../../parts/menu.tsx";
import { RunState, Took } from "../../parts/run-state.tsx";
import { notify, notifyError } from "../../parts/toast.tsx";
import { Ago } from "../../parts/values/ago.tsx";
import { count, money, preciseDuration } from "../../text/time.ts";
import { work } from "../../text/inspector/work.ts";

/** Whether a run can still be stopped. */
export function isWorking({ status }: Pick<RunSummary, "status">): boolean {
  return status === "running" || status === "pending";
}

/** A run in the list of all runs. */
export function RunRow({
  run,
  threadName,
  waits,
  isSelected,
  onSelect,
  onThread,
}: {
  run: RunSummary;
  threadName: string | undefined;
  /** It ended with a question that is still open. */
  waits: boolean;
  isSelected: boolean;
  onSelect: () => void;
  onThread: () => void;
}) {
  const { t } = useTranslation(work);
  const [, navigate] = useLocation();
  const { queued_at, started_at, ended_at, status, started_by, usage } = run;
  const address = runAddress(run.thread_id, run.run_id);
  const waited = started_at === null ? undefined : Date.parse(started_at) - Date.parse(queued_at);
  const by = { client: t("runs.byClient"), cron: t("runs.byCron"), agent: t("runs.byAgent") }[started_by.kind];
  return (
    <div role="row" className="run-row" data-run={run.run_id} data-selected={isSelected || undefined}>
      <span role="cell" className="run-check">
        <input type="checkbox" aria-label={t("runs.select")} checked={isSelected} onChange={onSelect} />
      </span>
      <span role="cell" className="run-cell-state">
        <RunState status={status} waits={waits} />
      </span>
      <span role="cell" className="run-cell-name">
        <a
          className="run-link"
          href={`/console${address}`}
          onClick={(event) => {
            if (event.metaKey || event.ctrlKey) return;
            event.preventDefault();
            navigate(address);
          }}
        >
          {visible(run.graph_id)}
        </a>
        <span className="run-thread">{visible(threadName ?? run.thread_id.slice(-12))}</span>
      </span>
      <span role="cell" className="run-cell-by">
        {by}
      </span>
      <span role="cell" className="run-cell-when">
        <Ago at={queued_at} />
      </span>
      <span role="cell" className="run-cell-waited">
        {waited === undefined ? <Took from={queued_at} to={ended_at} /> : preciseDuration(waited)}
      </span>
      <span role="cell" className="run-cell-took">
        <Took from={started_at} to={ended_at} />
      </span>
      <span role="cell" className="run-cell-tokens">
        {usage !== null && count(usage.input_tokens + usage.output_tokens)}
      </span>
      <span role="cell" className="run-cell-cost">
        {usage !== null && usage.cost > 0 && money(usage.cost)}
      </span>
      <span role="cell" className="run-cell-problem" title={run.error_code ?? run.cancel_reason}>
        {visible(run.error_code ?? run.cancel_reason ?? "")}
        {run.attempts > 1 && <span className="chip">{t("runs.attempts", { count: run.attempts })}</span>}
      </span>
      <span role="cell" className="run-cell-menu">
        <Menu
          label={t("runs.actions")}
          button={<EllipsisVertical size={16} />}
          entries={[
            isWorking(run) && {
              label: t("runs.stop"),
              icon: <Square size={16} />,
              onSelect: () => void stopRun(run).catch(notifyError),
            },
            {
              label: t("runs.again"),
              icon: <RotateCcw size={16} />,
              onSelect: () => void runAgain(run).then(() => notify(t("runs.started", { count: 1 })), notifyError),
            },
            "line",
            {
              label: t("runs.openChat"),
              icon: <MessageSquare size={16} />,
              onSelect: () => navigate(threadAddress(run.thread_id)),
            },
            { label: t("runs.filterThread"), icon: <ListFilter size={16} />, onSelect: onThread },
            {
              label: t("runs.copyId"),
              icon: <Copy size={16} />,
              onSelect: () => void navigator.clipboard.writeText(run.run_id).catch(notifyError),
            },
          ]}
        />
      </span>
    </div>
  );
}
