import { useState } from "react";
import { useTranslation } from "react-i18next";
import { answerApproval } from "../../api/approvals.ts";
import type { Approval } from "../../api/shapes.ts";
import { ApprovalCard } from "../../parts/approval/approval-card.tsx";
import { Button } from "../../parts/button.tsx";
import { useKeptFocus } from "../../parts/focus.ts";
import { notify, notifyError } from "../../parts/toast.tsx";
import { useOpenThread, useSnapshot } from "./thread-context.tsx";

/** What the thread waits for, above the composer where nobody can miss it. */
export function ApprovalDock() {
  const { t } = useTranslation();
  const thread = useOpenThread();
  const approvals = useSnapshot((snapshot) => snapshot.approvals);
  const [later, setLater] = useState<ReadonlySet<string>>(new Set());
  useKeptFocus(".approval-dock .approval-card", ".composer-field");
  const shown = approvals.filter(({ id }) => !later.has(id));
  if (shown.length === 0) return null;
  const approvable = shown.filter(({ allowed_decisions }) => allowed_decisions.includes("approve"));
  return (
    <div className="approval-dock" role="group" aria-label={t("approval.waitingOne")}>
      {approvable.length > 1 && <ApproveAll approvals={approvable} />}
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

/** Says yes to all that is shown, each by what was shown of it. */
function ApproveAll({ approvals }: { approvals: readonly Approval[] }) {
  const { t } = useTranslation();
  const thread = useOpenThread();
  const [isSending, setSending] = useState(false);
  const approveAll = async () => {
    setSending(true);
    try {
      for (const approval of approvals) await answerApproval(approval, { type: "approve" });
    } catch (error) {
      notifyError(error);
    } finally {
      setSending(false);
      await thread.sync();
    }
  };
  return (
    <div className="approve-all">
      <span>{t("approval.approveAllHint", { count: approvals.length })}</span>
      <Button disabled={isSending} onClick={() => void approveAll()}>
        {t("approval.approveAll", { count: approvals.length })}
      </Button>
    </div>
  );
}
