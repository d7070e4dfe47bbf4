import { useId, useState } from "react";
import { useTranslation } from "react-i18next";
import { useLocation } from "wouter";
import type { StartedRun } from "../../api/all-runs.ts";
import { startGraphRun, useSchemas } from "../../api/graphs.ts";
import { useHistory } from "../../api/states.ts";
import { createThread } from "../../api/threads.ts";
import { runAddress } from "../../app/addresses.ts";
import { SchemaForm } from "../../form/schema-form.tsx";
import { Button } from "../../parts/button.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Loading } from "../../parts/states.tsx";
import { notifyError } from "../../parts/toast.tsx";
import { work } from "../../text/inspector/work.ts";

/** The input of a run, to be changed and run from where the run began; the first run of a chat is run in a new one. */
export function EditInput({ run, onClose }: { run: StartedRun; onClose: () => void }) {
  const { t } = useTranslation(work);
  const [, navigate] = useLocation();
  const form = useId();
  const schemas = useSchemas(run.assistant_id);
  const history = useHistory(run.thread_id);
  const [input, setInput] = useState<unknown>(run.kwargs.input ?? undefined);
  const own = history.data?.filter(({ metadata }) => metadata?.run_id === run.run_id) ?? [];
  const begins = own.at(-1)?.parent_checkpoint?.checkpoint_id ?? undefined;
  const start = async (value: unknown) => {
    try {
      const thread = begins === undefined ? await createThread() : run.thread_id;
      const id = await startGraphRun(thread, {
        assistant_id: run.assistant_id,
        input: value ?? {},
        ...(run.kwargs.context !== undefined && { context: run.kwargs.context }),
        ...(begins !== undefined && { checkpoint_id: begins }),
      });
      onClose();
      navigate(runAddress(thread, id));
    } catch (error) {
      notifyError(error);
    }
  };
  return (
    <Dialog title={t("run.editAgain")} size="wide" onClose={onClose}>
      <div className="dialog-body">
        {schemas.isPending || history.isPending ? (
          <Loading />
        ) : (
          <SchemaForm
            id={form}
            label={t("graph.input")}
            schema={schemas.data?.input_schema}
            value={input}
            onValue={setInput}
            onSubmit={(value) => void start(value)}
          />
        )}
        <div className="row-end">
          <Button type="submit" form={form} kind="primary">
            {t("run.save")}
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
