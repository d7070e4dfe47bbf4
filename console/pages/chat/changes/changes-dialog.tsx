import { useMemo } from "react";
import { useTranslation } from "react-i18next";
import { undoAll } from "../../api/operations.ts";
import type { Operation } from "../../api/shapes.ts";
import { visible } from "../../markdown/links.ts";
import { Button } from "../../parts/button.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { LineCounts } from "../../parts/diff.tsx";
import { Empty } from "../../parts/states.tsx";
import { notify } from "../../parts/toast.tsx";
import { undoable } from "../../thread/operations.ts";
import { shortTime } from "../../text/time.ts";
import { OperationCard } from "./operation-card.tsx";
import { useOpenThread, useSnapshot } from "./thread-context.tsx";

/** All changes of a thread, by the run that made them. */
export function ChangesDialog({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation();
  const thread = useOpenThread();
  const operations = useSnapshot((snapshot) => snapshot.operations);
  const runs = useMemo(() => [...Map.groupBy(operations, ({ run_id }) => run_id).entries()], [operations]);
  const undoRun = async (own: readonly Operation[]) => {
    const { done, problem } = await undoAll(thread.id, own);
    const reason = problem instanceof Error ? problem.message : String(problem);
    if (problem === undefined) notify(t("operation.undoCount", { count: done }));
    else notify(t("operation.undoPart", { done, total: own.length, reason }), { kind: "error" });
    await thread.sync();
  };
  return (
    <Dialog title={t("operation.changes")} onClose={onClose} size="wide">
      <div className="dialog-body">
        {runs.length === 0 && <Empty title={t("operation.noChanges")} />}
        {runs.map(([run, own]) => (
          <section key={run} className="change-run">
            <header className="row-between">
              <h3>{shortTime(own.at(-1)?.created_at ?? "")}</h3>
              {undoable(own).length > 0 && (
                <Button size="small" onClick={() => void undoRun(undoable(own))}>
                  {t("operation.undoRun")}
                </Button>
              )}
            </header>
            {own.map((operation) => (
              <OperationCard key={operation.operation_id} operation={operation} />
            ))}
          </section>
        ))}
      </div>
    </Dialog>
  );
}

/** Asks before several changes are taken back, and names them. */
export function ConfirmUndo({
  operations,
  onUndo,
  onClose,
}: {
  operations: readonly Operation[];
  onUndo: () => void;
  onClose: () => void;
}) {
  const { t } = useTranslation();
  return (
    <Dialog title={t("operation.confirmUndo", { count: operations.length })} onClose={onClose}>
      <div className="dialog-body">
        <p className="hint">{t("operation.undoSinceHint")}</p>
        <ul className="path-list">
          {operations.map(({ operation_id, path, lines_added, lines_removed }) => (
            <li key={operation_id}>
              <code>{visible(path)}</code>
              <LineCounts added={lines_added} removed={lines_removed} />
            </li>
          ))}
        </ul>
        <div className="row-end">
          <Button kind="quiet" onClick={onClose}>
            {t("app.cancel")}
          </Button>
          <Button kind="primary" onClick={onUndo}>
            {t("operation.undo")}
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
