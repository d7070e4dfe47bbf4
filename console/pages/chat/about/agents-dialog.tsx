import { useTranslation } from "react-i18next";
import { useLocation } from "wouter";
import { threadAddress } from "../../../app/addresses.ts";
import { stopRun } from "../../../api/runs/all-runs.ts";
import type { BackgroundAgent } from "../../../api/shapes.ts";
import { useBackgroundAgents } from "../../../api/threads.ts";
import { visible } from "../../../markdown/links.ts";
import { Markdown } from "../../../markdown/markdown.tsx";
import { Button } from "../../../parts/button.tsx";
import { Dialog } from "../../../parts/dialog.tsx";
import { RunState, Took } from "../../../parts/run-state.tsx";
import { Empty, Failed, Loading } from "../../../parts/states.tsx";
import { notifyError } from "../../../parts/toast.tsx";
import { Ago } from "../../../parts/values/ago.tsx";
import { count, money } from "../../../text/time.ts";

/** The agents that work for a chat in the background, the newest first: their state, their reports, and how one answers or stops them. */
export function AgentsDialog({ threadId, onClose }: { threadId: string; onClose: () => void }) {
  const { t } = useTranslation();
  const { data, error, isPending, refetch } = useBackgroundAgents(threadId);
  return (
    <Dialog title={t("agents.title")} onClose={onClose} size="wide">
      <div className="dialog-body">
        {isPending && <Loading />}
        {error !== null && data === undefined && <Failed error={error} onRetry={() => void refetch()} />}
        {data?.length === 0 && <Empty title={t("agents.none")} hint={t("agents.noneHint")} />}
        {data?.toReversed().map((agent) => (
          <AgentWork key={agent.thread_id} agent={agent} onLeave={onClose} />
        ))}
      </div>
    </Dialog>
  );
}

function AgentWork({ agent, onLeave }: { agent: BackgroundAgent; onLeave: () => void }) {
  const { t } = useTranslation();
  const [, navigate] = useLocation();
  const { thread_id, run_id, name, task, status, begun_at, report } = agent;
  const isAsking = status === "asking";
  return (
    <section className="change-run" aria-label={visible(name)}>
      <header className="row-between">
        <h2>
          {visible(name)} <RunState {...stateOf(agent)} />
        </h2>
        <span className="row-end">
          <Button
            size="small"
            kind={isAsking ? "primary" : "plain"}
            onClick={() => {
              onLeave();
              navigate(threadAddress(thread_id));
            }}
          >
            {t(isAsking ? "agents.answer" : "agents.open")}
          </Button>
          {status !== "finished" && run_id !== null && (
            <Button size="small" onClick={() => stopRun({ thread_id, run_id }).catch(notifyError)}>
              {t("chat.stop")}
            </Button>
          )}
        </span>
      </header>
      <p>{visible(task)}</p>
      <small className="hint">
        {status === "working" ? <Took from={begun_at} to={null} /> : <Ago at={begun_at} />}
        {report !== null && ` · ${t("chat.tokens", { tokens: count(report.tokens) })}`}
        {report !== null && report.cost !== null && ` · ${t("chat.cost", { cost: money(report.cost) })}`}
      </small>
      {report !== null && (
        <div className="md">
          <blockquote>
            <Markdown text={report.reply} />
          </blockquote>
        </div>
      )}
    </section>
  );
}

/** The state of an agent as that of a run is shown. */
function stateOf({ status, report }: BackgroundAgent): Parameters<typeof RunState>[0] {
  if (status === "asking") return { status: "success", waits: true };
  if (status === "queued") return { status: "pending" };
  if (status === "working") return { status: "running" };
  if (report?.success === true) return { status: "success" };
  return { status: report?.end_reason === "cancelled" ? "interrupted" : "error" };
}
