import CircleCheckBig from "icon:circle-check-big";
import { useTranslation } from "react-i18next";
import { useLocation } from "wouter";
import { threadAddress } from "../app/addresses.ts";
import { usePageTitle } from "../app/news.ts";
import { useApprovals } from "../api/approvals.ts";
import { useThreads } from "../api/threads.ts";
import { ApprovalCard } from "../parts/approval/approval-card.tsx";
import { useKeptFocus } from "../parts/focus.ts";
import { Empty, Failed, Loading } from "../parts/states.tsx";
import { ageGroup, shortTime } from "../text/time.ts";

/** What waits for a person in all threads, the oldest first, and the threads whose last run failed today. */
export function InboxPage() {
  const { t } = useTranslation();
  const [, navigate] = useLocation();
  const approvals = useApprovals();
  const failed = useThreads({ status: "error" }).data?.pages.flatMap((page) => page.threads) ?? [];
  const failedToday = failed.filter(({ updated_at }) => ageGroup(updated_at) === "today");
  usePageTitle(t("app.inbox"));
  useKeptFocus(".inbox .approval-card", "#main");
  const waiting = approvals.data ?? [];
  return (
    <div className="inbox">
      <header className="page-head">
        <h1>{t("app.inbox")}</h1>
        {waiting.length > 0 && <span className="chip">{waiting.length}</span>}
      </header>
      {approvals.isPending && <Loading />}
      {approvals.error !== null && approvals.data === undefined && (
        <Failed error={approvals.error} onRetry={() => void approvals.refetch()} />
      )}
      {approvals.data !== undefined && waiting.length === 0 && (
        <Empty icon={<CircleCheckBig />} title={t("approval.empty")} hint={t("approval.emptyHint")} />
      )}
      <div className="inbox-list">
        {waiting.map((approval) => (
          <ApprovalCard
            key={approval.id}
            approval={approval}
            onAnswered={() => void approvals.refetch()}
            head={
              <a
                className="inbox-thread"
                href={`/console${threadAddress(approval.thread?.parent ?? approval.thread_id)}`}
                onClick={(event) => {
                  event.preventDefault();
                  navigate(threadAddress(approval.thread?.parent ?? approval.thread_id));
                }}
              >
                {approval.thread?.name ?? t("approval.openChat")} →
              </a>
            }
          />
        ))}
      </div>
      {failedToday.length > 0 && (
        <section className="home-block inbox-failed">
          <h2>{t("approval.failedRuns")}</h2>
          <ul>
            {failedToday.map(({ thread_id, name, updated_at }) => (
              <li key={thread_id}>
                <a className="home-thread" href={`/console${threadAddress(thread_id)}`}>
                  <i className="status-dot" data-status="error" />
                  <span className="home-name">{name}</span>
                  <span className="home-note">{shortTime(updated_at)}</span>
                </a>
              </li>
            ))}
          </ul>
        </section>
      )}
    </div>
  );
}
