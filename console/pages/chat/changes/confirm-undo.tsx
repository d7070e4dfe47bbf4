import { useState } from "react";
import { useTranslation } from "react-i18next";
import { undoTogether, type Conflict } from "../../../api/operations.ts";
import type { Operation } from "../../../api/shapes.ts";
import { visible } from "../../../markdown/links.ts";
import { Button } from "../../../parts/button.tsx";
import { Dialog } from "../../../parts/dialog.tsx";
import { LineCounts } from "../../../parts/diff.tsx";
import { notify, notifyError } from "../../../parts/toast.tsx";
import { useOpenThread, useSnapshot } from "../thread-context.tsx";

/**
 * Asks before several changes are taken back, and names them. Where something stands in the way nothing is taken back: it
 * is said, and what was built upon them can go with them.
 */
export function ConfirmUndo({
  operations,
  found = [],
  onClose,
}: {
  operations: readonly Operation[];
  /** What is known to stand in the way. */
  found?: readonly Conflict[];
  onClose: () => void;
}) {
  const { t } = useTranslation();
  const thread = useOpenThread();
  const all = useSnapshot((snapshot) => snapshot.operations);
  const [ids, setIds] = useState<ReadonlySet<string>>(() => new Set(operations.map((one) => one.operation_id)));
  const [conflicts, setConflicts] = useState(found);
  const [isUndoing, setUndoing] = useState(false);
  const known = new Map([...operations, ...all].map((one) => [one.operation_id, one]));
  const chosen = [...known.values()].filter(({ operation_id }) => ids.has(operation_id));
  const later = conflicts.flatMap((conflict) => conflict.later).filter((id) => !ids.has(id));
  const undo = async (wanted: ReadonlySet<string>) => {
    setUndoing(true);
    setIds(wanted);
    try {
      const { operations: done, conflicts: now } = await undoTogether(thread.id, [...wanted]);
      setConflicts(now);
      if (now.length > 0) return;
      notify(t("operation.undoCount", { count: done.length }));
      onClose();
      await thread.sync();
    } catch (error) {
      notifyError(error);
    } finally {
      setUndoing(false);
    }
  };
  return (
    <Dialog title={t("operation.confirmUndo", { count: chosen.length })} onClose={onClose}>
      <div className="dialog-body">
        <p className="hint">{t("operation.undoTogether")}</p>
        <ul className="path-list">
          {chosen.map(({ operation_id, path, lines_added, lines_removed }) => (
            <li key={operation_id}>
              <code>{visible(path)}</code>
              <LineCounts added={lines_added} removed={lines_removed} />
            </li>
          ))}
        </ul>
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
          {conflicts.length === 0 && (
            <Button kind="primary" disabled={isUndoing} onClick={() => void undo(ids)}>
              {isUndoing ? t("operation.undoing") : t("operation.undo")}
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
