import { useState } from "react";
import { useTranslation } from "react-i18next";
import { answerApproval } from "../../api/approvals.ts";
import { ApiError } from "../../api/client.ts";
import type { Approval } from "../../api/shapes.ts";
import { visible } from "../../markdown/links.ts";
import { Button } from "../button.tsx";
import { Dialog } from "../dialog.tsx";
import { notify, notifyError } from "../toast.tsx";
import { EffectView } from "./effect.tsx";

/** What of questions can be approved with a plain yes. */
export function approvable(approvals: readonly Approval[]): Approval[] {
  return approvals.filter(({ tool, allowed_decisions }) => tool !== null && allowed_decisions.includes("approve"));
}

/** Says yes to several calls at once: those that are marked, with what each would do in sight. */
export function ApproveMany({
  approvals,
  isMarked,
  onAnswered,
  onClose,
}: {
  approvals: readonly Approval[];
  /** Whether all of them are marked at first. */
  isMarked: boolean;
  onAnswered: () => void;
  onClose: () => void;
}) {
  const { t } = useTranslation();
  // What comes meanwhile is not among them: the user has not seen it.
  const [shown] = useState(() => approvable(approvals));
  const [marked, setMarked] = useState<ReadonlySet<string>>(() => new Set(isMarked ? shown.map(({ id }) => id) : []));
  const [whole, setWhole] = useState<string>();
  const [isSending, setSending] = useState(false);
  const mark = (id: string, isNow: boolean) => {
    const next = new Set(marked);
    if (isNow) next.add(id);
    else next.delete(id);
    setMarked(next);
  };
  const approve = async () => {
    setSending(true);
    let done = 0;
    try {
      for (const approval of shown.filter(({ id }) => marked.has(id))) done += await approveOne(approval);
    } catch (error) {
      notifyError(error);
    } finally {
      if (done > 0) notify(t("approval.approved", { count: done }));
      onAnswered();
      onClose();
    }
  };
  /** One that has changed, or was answered elsewhere, does not keep the others waiting. */
  const approveOne = async (approval: Approval): Promise<number> => {
    try {
      const { repeated } = await answerApproval(approval, { type: "approve" });
      return repeated ? 0 : 1;
    } catch (error) {
      const status = error instanceof ApiError ? error.status : 0;
      if (status !== 404 && status !== 409) throw error;
      const words = t(status === 409 ? "approval.changed" : "approval.answeredElsewhere");
      notify(`${visible(approval.effect?.summary ?? approval.tool ?? "")}: ${words}`, { kind: "error" });
      return 0;
    }
  };
  return (
    <Dialog title={t("approval.several")} onClose={onClose} size="wide">
      <div className="dialog-body">
        <label className="check">
          <input
            type="checkbox"
            checked={marked.size === shown.length}
            onChange={({ target }) => setMarked(new Set(target.checked ? shown.map(({ id }) => id) : []))}
          />
          {t("approval.all", { count: shown.length })}
        </label>
        {shown.map((approval) => (
          <section key={approval.id} className="approval-form" data-approval={approval.id}>
            <label className="check">
              <input
                type="checkbox"
                checked={marked.has(approval.id)}
                onChange={({ target }) => mark(approval.id, target.checked)}
              />
              <span>
                {visible(approval.question ?? approval.effect?.summary ?? approval.tool ?? "").slice(0, 1_000)}
                {approval.thread && <small>{visible(approval.thread.name)}</small>}
              </span>
            </label>
            <EffectView
              approval={approval}
              isWhole={whole === approval.id}
              onToggle={() => setWhole(whole === approval.id ? undefined : approval.id)}
            />
          </section>
        ))}
        <div className="row-end">
          <Button kind="quiet" onClick={onClose}>
            {t("app.cancel")}
          </Button>
          <Button kind="primary" disabled={isSending || marked.size === 0} onClick={() => void approve()}>
            {t("approval.approveCount", { count: marked.size })}
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
