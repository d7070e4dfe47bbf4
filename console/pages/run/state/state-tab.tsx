import Pencil from "icon:pencil";
import Play from "icon:play";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useLocation } from "wouter";
import type { StartedRun } from "../../../api/runs/all-runs.ts";
import { useStatesOf } from "../../../api/runs/states.ts";
import { startGraphRun } from "../../../api/graphs.ts";
import { runAddress } from "../../../app/addresses.ts";
import { Button } from "../../../parts/button.tsx";
import { Ago } from "../../../parts/values/ago.tsx";
import { Channels } from "../../../parts/values/channels.tsx";
import { Empty, Failed, Loading } from "../../../parts/states.tsx";
import { notifyError } from "../../../parts/toast.tsx";
import { work } from "../../../text/inspector/work.ts";
import type { Place } from "../place.ts";
import { CheckpointList, useCheckpoints, useParent } from "./checkpoints.tsx";
import { EditState } from "./edit-state.tsx";

/** The states of a run by checkpoint: their values, what each step changed, and running again from any of them. */
export function StateTab({ run, place, go }: { run: StartedRun; place: Place; go: (changes: Partial<Place>) => void }) {
  const { t } = useTranslation(work);
  const states = useStatesOf(run.thread_id, run.run_id);
  const checkpoints = useCheckpoints(states, place.checkpoint, (checkpoint) => go({ checkpoint }));
  const { shown } = checkpoints;
  const [showsDiff, setShowsDiff] = useState(true);
  const [isEditing, setEditing] = useState(false);
  const [, navigate] = useLocation();
  const parent = useParent(run, checkpoints, showsDiff);
  if (states.isPending || checkpoints.isFurther) return <Loading lines={6} />;
  if (states.error !== null && states.data === undefined) {
    return <Failed error={states.error} onRetry={() => void states.refetch()} />;
  }
  if (shown === undefined) return <Empty title={t("run.noState")} />;
  const id = shown.checkpoint.checkpoint_id ?? "";
  const runFrom = (checkpoint_id: string) =>
    startGraphRun(run.thread_id, { assistant_id: run.assistant_id, input: null, checkpoint_id }).then(
      (started) => navigate(runAddress(run.thread_id, started)),
      notifyError,
    );
  return (
    <div className="state-tab">
      <CheckpointList checkpoints={checkpoints} go={go} />
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
          <Ago at={shown.created_at ?? ""} className="hint" />
          <span className="space" />
          {shown.next.length > 0 && (
            <Button size="small" onClick={() => runFrom(id)}>
              <Play size={14} />
              {t("run.rerun")}
            </Button>
          )}
          <Button size="small" onClick={() => setEditing(true)}>
            <Pencil size={14} />
            {t("run.editState")}
          </Button>
        </div>
        {showsDiff && !shown.parent_checkpoint?.checkpoint_id && <p className="hint">{t("run.firstDiff")}</p>}
        <Channels
          key={`${id}-${String(showsDiff)}`}
          values={shown.values}
          {...(parent !== undefined && { before: parent.values ?? {} })}
        />
      </div>
      {isEditing && (
        <EditState run={run} state={shown} onClose={() => setEditing(false)} onWritten={(next) => void runFrom(next)} />
      )}
    </div>
  );
}
