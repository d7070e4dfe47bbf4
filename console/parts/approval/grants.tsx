import { useState } from "react";
import { useTranslation } from "react-i18next";
import { revokeGrant, useGrants } from "../../api/approvals.ts";
import type { Approval } from "../../api/shapes.ts";
import { visible } from "../../markdown/links.ts";
import { Ago } from "../values/ago.tsx";
import { Button } from "../button.tsx";
import { Dialog } from "../dialog.tsx";
import { Empty, Failed, Loading } from "../states.tsx";
import { notify, notifyError } from "../toast.tsx";

/** What a person has allowed a chat ahead, each with a way to take it back. */
export function GrantsDialog({ threadId, onClose }: { threadId: string; onClose: () => void }) {
  const { t } = useTranslation();
  const { data, error, isPending, refetch } = useGrants(threadId);
  const revoke = async (id: string) => {
    try {
      await revokeGrant(threadId, id);
      notify(t("approval.revoked"));
    } catch (problem) {
      notifyError(problem);
    } finally {
      await refetch();
    }
  };
  return (
    <Dialog title={t("approval.grants")} onClose={onClose}>
      <div className="dialog-body">
        {isPending && <Loading />}
        {error !== null && data === undefined && <Failed error={error} onRetry={() => void refetch()} />}
        {data?.length === 0 && <Empty title={t("approval.noGrants")} hint={t("approval.noGrantsHint")} />}
        <ul className="path-list">
          {data?.map(({ grant_id, tool, path_pattern, created_at }) => (
            <li key={grant_id}>
              <span>
                <code>{visible(tool)}</code> <code>{visible(path_pattern)}</code>
                <br />
                <small className="hint">
                  <Ago at={created_at} />
                </small>
              </span>
              <Button
                size="small"
                aria-label={t("approval.revoke", { tool, path: path_pattern })}
                onClick={() => void revoke(grant_id)}
              >
                {t("approval.revokeOne")}
              </Button>
            </li>
          ))}
        </ul>
      </div>
    </Dialog>
  );
}

/** Says yes to a call, and ahead to all of its tool on paths of a pattern. */
export function RememberForm({
  approval,
  onCancel,
  onSend,
}: {
  approval: Approval;
  onCancel: () => void;
  onSend: (pattern: string) => void;
}) {
  const { t } = useTranslation();
  const path = approval.args?.["path"];
  const folder = typeof path === "string" ? path.replace(/[^/]*$/u, "") : "";
  const [pattern, setPattern] = useState(`${folder}**`);
  const [showsGrants, setShowsGrants] = useState(false);
  return (
    <form
      className="approval-form"
      onSubmit={(event) => {
        event.preventDefault();
        onSend(pattern);
      }}
    >
      <label className="field">
        <span>{t("approval.remember", { tool: approval.tool ?? "" })}</span>
        <input className="input mono" value={pattern} onChange={(event) => setPattern(event.target.value)} />
      </label>
      <div className="row-end">
        <Button kind="quiet" onClick={() => setShowsGrants(true)}>
          {t("approval.grants")}
        </Button>
        <Button kind="quiet" onClick={onCancel}>
          {t("app.cancel")}
        </Button>
        <Button type="submit" kind="primary" disabled={pattern.trim() === ""}>
          {t("approval.approve")}
        </Button>
      </div>
      {showsGrants && <GrantsDialog threadId={approval.thread_id} onClose={() => setShowsGrants(false)} />}
    </form>
  );
}
