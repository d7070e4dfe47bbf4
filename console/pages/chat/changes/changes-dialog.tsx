import { useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { Button } from "../../../parts/button.tsx";
import { Dialog } from "../../../parts/dialog.tsx";
import { Empty } from "../../../parts/states.tsx";
import { undoable } from "../../../thread/operations.ts";
import { Ago } from "../../../parts/values/ago.tsx";
import { ConfirmUndo } from "./confirm-undo.tsx";
import { OperationCard } from "./operation-card.tsx";
import { useSnapshot } from "../thread-context.tsx";

/** All changes of a thread, by the run that made them. */
export function ChangesDialog({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation();
  const operations = useSnapshot((snapshot) => snapshot.operations);
  const runs = useMemo(() => [...Map.groupBy(operations, ({ run_id }) => run_id).entries()], [operations]);
  const [asked, setAsked] = useState<string>();
  return (
    <Dialog title={t("operation.changes")} onClose={onClose} size="wide">
      <div className="dialog-body">
        {runs.length === 0 && <Empty title={t("operation.noChanges")} />}
        {runs.map(([run, own]) => (
          <section key={run} className="change-run">
            <header className="row-between">
              <h2>
                <Ago at={own.at(-1)?.created_at ?? ""} />
              </h2>
              {undoable(own).length > 0 && (
                <Button size="small" onClick={() => setAsked(run)}>
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
      {asked !== undefined && (
        <ConfirmUndo
          operations={undoable(operations.filter(({ run_id }) => run_id === asked))}
          what={{ run_id: asked }}
          onClose={() => setAsked(undefined)}
        />
      )}
    </Dialog>
  );
}
