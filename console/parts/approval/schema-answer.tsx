import { useId, useState } from "react";
import { useTranslation } from "react-i18next";
import { SchemaForm } from "../../form/schema-form.tsx";
import { Button } from "../button.tsx";

/** The answer to a question that says by JSON Schema what it takes. */
export function SchemaAnswer({
  schema,
  isSending,
  onSend,
}: {
  schema: unknown;
  isSending: boolean;
  onSend: (value: unknown) => void;
}) {
  const { t } = useTranslation();
  const form = useId();
  const [value, setValue] = useState<unknown>();
  return (
    <>
      <SchemaForm
        id={form}
        label={t("approval.respond")}
        schema={schema}
        value={value}
        onValue={setValue}
        onSubmit={(answer) => onSend(answer ?? null)}
      />
      <div className="row-end">
        <Button type="submit" form={form} kind="primary" disabled={isSending}>
          {t("approval.respond")}
        </Button>
      </div>
    </>
  );
}
