import CircleCheckBig from "icon:circle-check-big";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useLocation } from "wouter";
import { threadAddress } from "../app/addresses.ts";
import { usePageTitle } from "../app/news.ts";
import { deferApproval, restoreDeferred, useDeferredApprovals } from "../app/kept/deferred-approvals.ts";
import { useApprovals } from "../api/approvals.ts";
import { useThreads } from "../api/threads.ts";
import type { Approval } from "../api/shapes.ts";
import { ApprovalCard } from "../parts/approval/approval-card.tsx";
import { approvable, ApproveMany } from "../parts/approval/approve-many.tsx";
import { Button } from "../parts/button.tsx";
import { Disclosure } from "../parts/disclosure.tsx";
import { useKeptFocus } from "../parts/focus.ts";
import { Empty, Failed, Loading } from "../parts/states.tsx";
import { Ago } from "../parts/values/ago.tsx";
import { ageGroup } from "../text/time.ts";

/** What waits for a person in all threads, the oldest first, and the threads whose last run failed today. */
export function InboxPage() {
  const { t } = useTranslation();
  const approvals = useApprovals();
  const later = useDeferredApprovals();
  const [showsMany, setShowsMany] = useState(false);
  const failed = useThreads({ status: "error" }).data?.pages.flatMap((page) => page.threads) ?? [];
  const failedToday = failed.filter(({ updated_at }) => ageGroup(updated_at) === "today");
  usePageTitle(t("app.inbox"));
  useKeptFocus(".inbox .approval-card", "#main", true);
  const all = approvals.data ?? [];
  const waiting = all.filter(({ id }) => !later.has(id));
  const deferred = all.filter(({ id }) => later.has(id));
  const again = () => void approvals.refetch();
  return (
    <div className="inbox">
      <header className="page-head">
        <h1>{t("app.inbox")}</h1>
        {waiting.length > 0 && <span className="chip">{waiting.length}</span>}
        {approvable(waiting).length > 1 && (
          <Button size="small" onClick={() => setShowsMany(true)}>
            {t("approval.several")}…
          </Button>
        )}
      </header>
      {showsMany && (
        <ApproveMany approvals={waiting} isMarked={false} onAnswered={again} onClose={() => setShowsMany(false)} />
      )}
      {approvals.isPending && <Loading />}
      {approvals.error !== null && approvals.data === undefined && (
        <Failed error={approvals.error} onRetry={() => void approvals.refetch()} />
      )}
      {approvals.data !== undefined && waiting.length === 0 && (
        <Empty icon={<CircleCheckBig />} title={t("approval.empty")} hint={t("approval.emptyHint")} />
      )}
      <div className="inbox-list">
        {waiting.map((approval) => (
          <InboxCard key={approval.id} approval={approval} onAnswered={again} />
        ))}
      </div>
      {deferred.length > 0 && (
        <Disclosure title={t("approval.deferredCount", { count: deferred.length })}>
          <div className="inbox-list">
            {deferred.map((approval) => (
              <InboxCard key={approval.id} approval={approval} onAnswered={again} isDeferred />
            ))}
          </div>
        </Disclosure>
      )}
      {failedToday.length > 0 && (
        <section className="home-block inbox-failed">
          <h2>{t("approval.failedRuns")}</h2>
          <ul>
            {failedToday.map(({ thread_id, name, updated_at }) => (
              <li key={thread_id}>
                <a className="home-thread" href={`/console${threadAddress(thread_id)}`}>
                  <i className="status-dot" data-status="error" />
                  <span className="home-name">{name}</span>
                  <span className="home-note">
                    <Ago at={updated_at} />
                  </span>
                </a>
              </li>
            ))}
          </ul>
        </section>
      )}
    </div>
  );
}

/** A question with the chat that asks it. */
function InboxCard({
  approval,
  onAnswered,
  isDeferred = false,
}: {
  approval: Approval;
  onAnswered: () => void;
  isDeferred?: boolean;
}) {
  const { t } = useTranslation();
  const [, navigate] = useLocation();
  const address = threadAddress(approval.thread?.parent ?? approval.thread_id);
  return (
    <ApprovalCard
      approval={approval}
      onAnswered={onAnswered}
      isDeferred={isDeferred}
      onLater={() => (isDeferred ? restoreDeferred([approval.id]) : deferApproval(approval.id))}
      head={
        <a
          className="inbox-thread"
          href={`/console${address}`}
          onClick={(event) => {
            event.preventDefault();
            navigate(address);
          }}
        >
          {approval.thread?.name ?? t("approval.openChat")} →
        </a>
      }
    />
  );
}
