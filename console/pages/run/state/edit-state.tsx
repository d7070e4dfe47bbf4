import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useDrawing, useSchemas } from "../../../api/graphs.ts";
import type { StartedRun } from "../../../api/runs/all-runs.ts";
import { writeState, type Snapshot } from "../../../api/runs/states.ts";
import { visible } from "../../../markdown/links.ts";
import { changesOf } from "../../../run/state-diff.ts";
import { work } from "../../../text/inspector/work.ts";
import { FormDialog } from "../form-dialog.tsx";

/** The channels that the user has changed; what a form has only filled up is no change. */
function changedIn(before: unknown, after: unknown): Record<string, unknown> {
  const changes = changesOf(before ?? {}, after).filter(
    ({ kind, value }) => kind === "changed" || (kind === "added" && !isBlank(value)),
  );
  return Object.fromEntries(changes.map(({ name, value }) => [name, value]));
}

function isBlank(value: unknown): boolean {
  return value === null || ["{}", "[]", '""', undefined].includes(JSON.stringify(value));
}

/** The values of a checkpoint to be changed; what was changed is written onto it, and the run then goes on from there. */
export function EditState({
  run,
  state,
  onClose,
  onWritten,
}: {
  run: StartedRun;
  state: Snapshot;
  onClose: () => void;
  onWritten: (checkpoint: string) => void;
}) {
  const { t } = useTranslation(work);
  const schemas = useSchemas(run.assistant_id);
  const nodes = useDrawing(run.assistant_id).data?.nodes ?? [];
  const [asNode, setAsNode] = useState("");
  const write = async (values: unknown) => {
    const checkpoint = state.checkpoint.checkpoint_id ?? "";
    const changed = changedIn(state.values, values);
    // Where nothing is changed there is nothing to write, and the run goes on from the checkpoint itself.
    const isSame = Object.keys(changed).length === 0 && asNode === "" && state.next.length > 0;
    const next = isSame
      ? checkpoint
      : await writeState(run.thread_id, checkpoint, changed, asNode === "" ? undefined : asNode);
    onClose();
    onWritten(next);
  };
  return (
    <FormDialog
      title={t("run.editState")}
      hint={t("run.editStateHint")}
      label={t("run.values")}
      schema={schemas.data?.state_schema}
      isPending={schemas.isPending}
      initial={state.values}
      onRun={write}
      onClose={onClose}
    >
      <label className="field">
        <span>{t("run.asNode")}</span>
        <select className="filter" value={asNode} onChange={({ target }) => setAsNode(target.value)}>
          <option value="">–</option>
          {nodes
            .filter(({ id, type }) => type === "runnable" && !/[:|]/u.test(id))
            .map(({ id }) => (
              <option key={id} value={id}>
                {visible(id)}
              </option>
            ))}
        </select>
      </label>
    </FormDialog>
  );
}
