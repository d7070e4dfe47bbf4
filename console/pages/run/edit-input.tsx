import { useTranslation } from "react-i18next";
import { useLocation } from "wouter";
import type { StartedRun } from "../../api/runs/all-runs.ts";
import { startGraphRun, useSchemas } from "../../api/graphs.ts";
import { useBeginning } from "../../api/runs/states.ts";
import { createThread } from "../../api/threads.ts";
import { runAddress } from "../../app/addresses.ts";
import { work } from "../../text/inspector/work.ts";
import { FormDialog } from "./form-dialog.tsx";

/** The input of a run, to be changed and run from where the run began; the first run of a chat is run in a new one. */
export function EditInput({ run, onClose }: { run: StartedRun; onClose: () => void }) {
  const { t } = useTranslation(work);
  const [, navigate] = useLocation();
  const schemas = useSchemas(run.assistant_id);
  const beginning = useBeginning(run.thread_id, run.run_id);
  const start = async (input: unknown) => {
    const begins = beginning.data ?? undefined;
    const thread = begins === undefined ? await createThread() : run.thread_id;
    const id = await startGraphRun(thread, {
      assistant_id: run.assistant_id,
      input,
      ...(run.kwargs.context !== undefined && { context: run.kwargs.context }),
      ...(begins !== undefined && { checkpoint_id: begins }),
    });
    onClose();
    navigate(runAddress(thread, id));
  };
  return (
    <FormDialog
      title={t("run.editAgain")}
      label={t("graph.input")}
      schema={schemas.data?.input_schema}
      isPending={schemas.isPending || beginning.isPending}
      initial={run.kwargs.input ?? undefined}
      onRun={start}
      onClose={onClose}
    />
  );
}
