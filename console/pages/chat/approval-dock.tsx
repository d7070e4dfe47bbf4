import { useState } from "react";
import { useTranslation } from "react-i18next";
import { deferApproval, restoreDeferred, useDeferredApprovals } from "../../app/kept/deferred-approvals.ts";
import { ApprovalCard } from "../../parts/approval/approval-card.tsx";
import { approvable, ApproveMany } from "../../parts/approval/approve-many.tsx";
import { Button } from "../../parts/button.tsx";
import { useKeptFocus } from "../../parts/focus.ts";
import { notify } from "../../parts/toast.tsx";
import { useOpenThread, useSnapshot } from "./thread-context.tsx";

/** What the thread waits for, above the composer where it cannot be missed. */
export function ApprovalDock() {
  const { t } = useTranslation();
  const thread = useOpenThread();
  const approvals = useSnapshot((snapshot) => snapshot.approvals);
  const later = useDeferredApprovals();
  const [showsMany, setShowsMany] = useState(false);
  const shown = approvals.filter(({ id }) => !later.has(id));
  useKeptFocus(".approval-dock .approval-card", shown.length > 0 ? ".conversation" : ".composer-field", true);
  const deferred = approvals.filter(({ id }) => later.has(id)).map(({ id }) => id);
  const several = approvable(shown).length;
  if (approvals.length === 0) return null;
  const onAnswered = () => void thread.expectRun(Promise.resolve()).then(() => thread.sync());
  return (
    <div className="approval-dock" role="group" aria-label={t("approval.waitingOne")}>
      {several > 1 && (
        <div className="approve-all">
          <span>{t("approval.approveAllHint", { count: several })}</span>
          <Button onClick={() => setShowsMany(true)}>{t("approval.several")}…</Button>
        </div>
      )}
      {showsMany && (
        <ApproveMany approvals={shown} isMarked onAnswered={onAnswered} onClose={() => setShowsMany(false)} />
      )}
      {shown.map((approval) => (
        <ApprovalCard
          key={approval.id}
          approval={approval}
          onAnswered={onAnswered}
          onLater={() => {
            deferApproval(approval.id);
            notify(t("approval.deferred"));
          }}
        />
      ))}
      {deferred.length > 0 && (
        <div className="approve-all">
          <span>{t("approval.deferredCount", { count: deferred.length })}</span>
          <Button size="small" onClick={() => restoreDeferred(deferred)}>
            {t("approval.bringBack")}
          </Button>
        </div>
      )}
    </div>
  );
}
