import { useId, useState, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { SchemaForm } from "../../form/schema-form.tsx";
import { Button, useOnce } from "../../parts/button.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Loading } from "../../parts/states.tsx";
import { notifyError } from "../../parts/toast.tsx";
import { work } from "../../text/inspector/work.ts";

/** A form by a schema with which something is run; what cannot be run is said, and the form stays as it is. */
export function FormDialog({
  title,
  label,
  schema,
  isPending,
  initial,
  onRun,
  onClose,
  hint,
  children,
}: {
  title: string;
  label: string;
  schema: unknown;
  isPending: boolean;
  initial?: unknown;
  onRun: (value: unknown) => Promise<void>;
  onClose: () => void;
  hint?: string;
  children?: ReactNode;
}) {
  const { t } = useTranslation(work);
  const form = useId();
  const [value, setValue] = useState(initial);
  const run = useOnce((submitted: unknown) => onRun(submitted ?? {}).catch(notifyError));
  return (
    <Dialog title={title} size="wide" onClose={onClose}>
      <div className="dialog-body">
        {hint !== undefined && <p className="hint">{hint}</p>}
        {isPending ? (
          <Loading />
        ) : (
          <SchemaForm id={form} label={label} schema={schema} value={value} onValue={setValue} onSubmit={run} />
        )}
        {children}
        <div className="row-end">
          <Button type="submit" form={form} kind="primary" disabled={isPending}>
            {t("run.save")}
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
