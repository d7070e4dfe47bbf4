import ChevronLeft from "icon:chevron-left";
import ChevronRight from "icon:chevron-right";
import Pencil from "icon:pencil";
import Play from "icon:play";
import { useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { useLocation } from "wouter";
import type { StartedRun } from "../../api/runs/all-runs.ts";
import { startGraphRun, useDrawing, useSchemas } from "../../api/graphs.ts";
import { useHistory, writeState, type Snapshot } from "../../api/runs/states.ts";
import { runAddress } from "../../app/addresses.ts";
import { useCommands, type Command } from "../../app/commands.ts";
import { visible } from "../../markdown/links.ts";
import { Button, IconButton } from "../../parts/button.tsx";
import { Channels } from "../../parts/channels.tsx";
import { Empty, Failed, Loading } from "../../parts/states.tsx";
import { notifyError } from "../../parts/toast.tsx";
import { shortTime } from "../../text/time.ts";
import { work } from "../../text/inspector/work.ts";
import { FormDialog } from "./form-dialog.tsx";
import type { Place } from "./place.ts";

/** The states of a run by checkpoint: their values, what each step changed, and running again from any of them. */
export function StateTab({ run, place, go }: { run: StartedRun; place: Place; go: (changes: Partial<Place>) => void }) {
  const { t } = useTranslation(work);
  const history = useHistory(run.thread_id);
  const all = useMemo(() => history.data ?? [], [history.data]);
  const own = useMemo(
    () => all.filter(({ metadata }) => metadata?.run_id === run.run_id).toReversed(),
    [all, run.run_id],
  );
  const [showsDiff, setShowsDiff] = useState(true);
  const [isEditing, setEditing] = useState(false);
  const [, navigate] = useLocation();
  const found = own.findIndex(({ checkpoint }) => checkpoint.checkpoint_id === place.checkpoint);
  const at = found < 0 ? own.length - 1 : found;
  const shown = own[at];
  const step = (by: number) => () => {
    const next = own[Math.min(own.length - 1, Math.max(0, at + by))]?.checkpoint.checkpoint_id;
    if (next !== null && next !== undefined) go({ checkpoint: next });
  };
  useSteps(step(-1), step(1));
  if (history.isPending) return <Loading lines={6} />;
  if (history.error !== null && history.data === undefined) {
    return <Failed error={history.error} onRetry={() => void history.refetch()} />;
  }
  if (shown === undefined) return <Empty title={t("run.noState")} />;
  const id = shown.checkpoint.checkpoint_id ?? "";
  const parent = all.find(
    ({ checkpoint }) =>
      checkpoint.checkpoint_id !== undefined && checkpoint.checkpoint_id === shown.parent_checkpoint?.checkpoint_id,
  );
  const runFrom = (checkpoint_id: string) =>
    startGraphRun(run.thread_id, { assistant_id: run.assistant_id, input: null, checkpoint_id }).then(
      (started) => navigate(runAddress(run.thread_id, started)),
      notifyError,
    );
  return (
    <div className="state-tab">
      <nav className="checkpoints" aria-label={t("run.checkpoints")}>
        <div className="row-between">
          <h2>{t("run.checkpoints")}</h2>
          <span className="checkpoint-moves">
            <IconButton label={t("run.earlier")} shortcut="[" disabled={at === 0} onClick={step(-1)}>
              <ChevronLeft size={16} />
            </IconButton>
            <IconButton label={t("run.later")} shortcut="]" disabled={at === own.length - 1} onClick={step(1)}>
              <ChevronRight size={16} />
            </IconButton>
          </span>
        </div>
        <ol>
          {own.map((snapshot, index) => (
            <li key={snapshot.checkpoint.checkpoint_id ?? index}>
              <button
                type="button"
                className="node-row"
                aria-current={index === at || undefined}
                onClick={() => go({ checkpoint: snapshot.checkpoint.checkpoint_id ?? undefined })}
              >
                <span>{nameOf(snapshot, t)}</span>
                <small>{snapshot.next.length > 0 ? `→ ${visible(snapshot.next.join(", "))}` : ""}</small>
              </button>
            </li>
          ))}
        </ol>
      </nav>
      <div className="state-shown">
        <div className="state-tools">
          <div className="segments" role="group" aria-label={t("run.state")}>
            <button type="button" aria-pressed={showsDiff} onClick={() => setShowsDiff(true)}>
              {t("run.diff")}
            </button>
            <button type="button" aria-pressed={!showsDiff} onClick={() => setShowsDiff(false)}>
              {t("run.values")}
            </button>
          </div>
          <span className="hint">{shortTime(shown.created_at ?? "")}</span>
          <span className="space" />
          {shown.next.length > 0 && (
            <Button size="small" onClick={() => void runFrom(id)}>
              <Play size={14} />
              {t("run.rerun")}
            </Button>
          )}
          <Button size="small" onClick={() => setEditing(true)}>
            <Pencil size={14} />
            {t("run.editState")}
          </Button>
        </div>
        {showsDiff && parent === undefined && <p className="hint">{t("run.firstDiff")}</p>}
        <Channels
          key={`${id}-${String(showsDiff)}`}
          values={shown.values}
          {...(showsDiff && parent !== undefined && { before: parent.values ?? {} })}
        />
      </div>
      {isEditing && (
        <EditState
          run={run}
          checkpoint={id}
          onClose={() => setEditing(false)}
          onWritten={(next) => void runFrom(next)}
        />
      )}
    </div>
  );
}

function nameOf({ metadata }: Snapshot, t: ReturnType<typeof useTranslation<typeof work>>["t"]): string {
  const source = metadata?.source;
  if (source === "input" || source === "update" || source === "fork") return t(`run.source.${source}`);
  return t("run.step", { step: metadata?.step ?? "" });
}

/** `[` and `]` go to the checkpoint before and after. */
function useSteps(earlier: () => void, later: () => void): void {
  const { t } = useTranslation(work);
  useCommands(
    useMemo(
      (): Command[] => [
        { id: "earlier", group: "here", label: t("run.earlier"), keys: "[", run: earlier },
        { id: "later", group: "here", label: t("run.later"), keys: "]", run: later },
      ],
      [t, earlier, later],
    ),
  );
}

/** Values to be written onto a checkpoint, from which the run then goes on. */
function EditState({
  run,
  checkpoint,
  onClose,
  onWritten,
}: {
  run: StartedRun;
  checkpoint: string;
  onClose: () => void;
  onWritten: (checkpoint: string) => void;
}) {
  const { t } = useTranslation(work);
  const schemas = useSchemas(run.assistant_id);
  const nodes = useDrawing(run.assistant_id).data?.nodes ?? [];
  const [asNode, setAsNode] = useState("");
  const write = async (values: unknown) => {
    const written = await writeState(run.thread_id, checkpoint, values, asNode === "" ? undefined : asNode);
    onClose();
    onWritten(written);
  };
  return (
    <FormDialog
      title={t("run.editState")}
      hint={t("run.editStateHint")}
      label={t("run.values")}
      schema={schemas.data?.state_schema}
      isPending={schemas.isPending}
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
