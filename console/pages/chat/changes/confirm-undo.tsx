import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { planUndo, undoTogether, type Conflict, type UndoSelection } from "../../../api/operations.ts";
import type { Operation } from "../../../api/shapes.ts";
import { visible } from "../../../markdown/links.ts";
import { Button } from "../../../parts/button.tsx";
import { Dialog } from "../../../parts/dialog.tsx";
import { LineCounts } from "../../../parts/diff.tsx";
import { Failed } from "../../../parts/states.tsx";
import { notify, notifyError } from "../../../parts/toast.tsx";
import { useChangesPlace } from "./changes-place.tsx";

/**
 * Asks before several changes are taken back, and names them. Where something stands in the way nothing is taken back: it
 * is said, and what was built upon them can go with them.
 */
export function ConfirmUndo({
  operations,
  what,
  found = [],
  before,
  onClose,
}: {
  /** What the page knows of them. */
  operations: readonly Operation[];
  /** What they have in common: the server names those that the page has not loaded, too. */
  what?: UndoSelection;
  /** What is known to stand in the way. */
  found?: readonly Conflict[];
  /** Called if the dialog was opened before another action: whether to proceed, with the files undone or as they are. */
  before?: (proceed: boolean) => void;
  onClose: () => void;
}) {
  const { t } = useTranslation();
  const { id, operations: all, sync } = useChangesPlace();
  const plan = useQuery({
    queryKey: ["undo", id, what],
    queryFn: ({ signal }) => planUndo(id, what ?? { run_id: "" }, signal),
    enabled: what !== undefined,
    gcTime: 0,
  });
  const isKnown = what === undefined || plan.data !== undefined;
  const begun = plan.data?.operations ?? operations;
  const [more, setMore] = useState<readonly string[]>([]);
  const ids = new Set([...begun.map((one) => one.operation_id), ...more]);
  const [conflicts, setConflicts] = useState(found);
  const [isUndoing, setUndoing] = useState(false);
  const known = new Map([...begun, ...all].map((one) => [one.operation_id, one]));
  const chosen = [...known.values()].filter(({ operation_id }) => ids.has(operation_id));
  const later = conflicts.flatMap((conflict) => conflict.later).filter((id) => !ids.has(id));
  const undo = async (wanted: ReadonlySet<string>) => {
    setUndoing(true);
    setMore([...wanted]);
    try {
      const { operations: done, conflicts: now } = await undoTogether(id, [...wanted]);
      setConflicts(now);
      if (now.length > 0) return;
      notify(t("operation.undoCount", { count: done.length }));
      if (before === undefined) onClose();
      else before(true);
      await sync();
    } catch (error) {
      notifyError(error);
    } finally {
      setUndoing(false);
    }
  };
  return (
    <Dialog
      title={t(before === undefined ? "operation.confirmUndo" : "operation.keepOrUndo", { count: chosen.length })}
      onClose={onClose}
    >
      <div className="dialog-body">
        <p className="hint">{t(before === undefined ? "operation.undoTogether" : "operation.keepOrUndoHint")}</p>
        <ul className="path-list">
          {chosen.map(({ operation_id, path, lines_added, lines_removed }) => (
            <li key={operation_id}>
              <code>{visible(path)}</code>
              <LineCounts added={lines_added} removed={lines_removed} />
            </li>
          ))}
        </ul>
        {plan.error !== null && <Failed error={plan.error} onRetry={() => void plan.refetch()} />}
        {conflicts.length > 0 && (
          <div className="problem" role="alert">
            <p>{t("operation.inTheWay")}</p>
            <ul>
              {conflicts.map(({ operation_id, path, message }) => (
                <li key={operation_id}>
                  <code>{visible(path)}</code> {message}
                </li>
              ))}
            </ul>
          </div>
        )}
        <div className="row-end">
          <Button kind="quiet" onClick={onClose}>
            {t("app.cancel")}
          </Button>
          {before !== undefined && (
            <Button disabled={isUndoing} onClick={() => before(true)}>
              {t("operation.keepFiles")}
            </Button>
          )}
          {conflicts.length === 0 && (
            <Button kind="primary" disabled={isUndoing || !isKnown} onClick={() => void undo(ids)}>
              {isUndoing
                ? t("operation.undoing")
                : t(before === undefined ? "operation.undo" : "operation.undoAndGoOn")}
            </Button>
          )}
          {later.length > 0 && (
            <Button kind="primary" disabled={isUndoing} onClick={() => void undo(new Set([...ids, ...later]))}>
              {t("operation.undoAll", { count: ids.size + new Set(later).size })}
            </Button>
          )}
        </div>
      </div>
    </Dialog>
  );
}
