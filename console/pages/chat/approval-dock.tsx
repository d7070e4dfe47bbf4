import { useState } from "react";
import { useTranslation } from "react-i18next";
import { ApprovalCard } from "../../parts/approval/approval-card.tsx";
import { notify } from "../../parts/toast.tsx";
import { useOpenThread, useSnapshot } from "./thread-context.tsx";

/** What the thread waits for, above the composer where nobody can miss it. */
export function ApprovalDock() {
  const { t } = useTranslation();
  const thread = useOpenThread();
  const approvals = useSnapshot((snapshot) => snapshot.approvals);
  const [later, setLater] = useState<ReadonlySet<string>>(new Set());
  const shown = approvals.filter(({ id }) => !later.has(id));
  if (shown.length === 0) return null;
  return (
    <div className="approval-dock" role="group" aria-label={t("approval.waitingOne")}>
      {shown.map((approval) => (
        <ApprovalCard
          key={approval.id}
          approval={approval}
          onAnswered={() => {
            thread.expectRun();
            void thread.sync();
          }}
          onLater={() => {
            setLater(new Set(later).add(approval.id));
            notify(t("approval.deferred"));
          }}
        />
      ))}
    </div>
  );
}
