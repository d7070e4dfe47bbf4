// The package's own list of exports also loads a validator that needs `eval`.
import Form from "@rjsf/core/lib/components/Form.js";
import type { RJSFSchema, UiSchema } from "@rjsf/utils";
import { useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { work } from "../text/inspector/work.ts";
import { JsonField, JsonInput, MessagesField, TextWidget } from "./fields.tsx";
import { markedSchema } from "./marked-schema.ts";
import { withNamedOptions } from "./option-names.ts";
import { formWords, templates } from "./templates.tsx";
import { validator } from "./validator.ts";
import "../style/later.css";

const fields = { json: JsonField, messages: MessagesField };
const widgets = { TextWidget };
const uiSchema: UiSchema = { "ui:submitButtonOptions": { norender: true } };

/** A value by its JSON Schema, as fields or as JSON; without a schema as JSON alone. */
export function SchemaForm({
  id,
  schema,
  value,
  onValue,
  onSubmit,
  label,
}: {
  /** Of the form: a button elsewhere submits it by `form={id}`. */
  id: string;
  schema: unknown;
  value: unknown;
  onValue: (value: unknown) => void;
  /** Called with a value that fits the schema. */
  onSubmit: (value: unknown) => void;
  label: string;
}) {
  const { t } = useTranslation(work);
  const marked = useMemo(() => {
    const found = markedSchema(schema);
    return found && withNamedOptions(found, t("form.kinds", { returnObjects: true }));
  }, [schema, t]);
  const [asJson, setAsJson] = useState(false);
  const isJson = marked === undefined || asJson;
  return (
    <div className="schema-form">
      <div className="row-between">
        <span className="form-title">{label}</span>
        {marked !== undefined && (
          <div className="segments" role="group" aria-label={t("form.kind")}>
            <button type="button" aria-pressed={!asJson} onClick={() => setAsJson(false)}>
              {t("form.fields")}
            </button>
            <button type="button" aria-pressed={asJson} onClick={() => setAsJson(true)}>
              JSON
            </button>
          </div>
        )}
      </div>
      {marked === undefined && <p className="hint">{t("form.noSchema")}</p>}
      {isJson ? (
        <JsonForm id={id} value={value} onValue={onValue} onSubmit={onSubmit} label={label} />
      ) : (
        <FieldsForm id={id} schema={marked} value={value} onValue={onValue} onSubmit={onSubmit} />
      )}
    </div>
  );
}

function FieldsForm({
  id,
  schema,
  value,
  onValue,
  onSubmit,
}: {
  id: string;
  schema: RJSFSchema;
  value: unknown;
  onValue: (value: unknown) => void;
  onSubmit: (value: unknown) => void;
}) {
  return (
    <Form
      id={id}
      idPrefix={id}
      schema={schema}
      uiSchema={uiSchema}
      fields={fields}
      widgets={widgets}
      templates={templates}
      validator={validator}
      formData={value}
      translateString={formWords}
      showErrorList={false}
      noHtml5Validate
      focusOnFirstError
      experimental_defaultFormStateBehavior={{ emptyObjectFields: "populateRequiredDefaults" }}
      onChange={({ formData }) => onValue(formData)}
      onSubmit={({ formData }) => onSubmit(formData)}
    >
      <></>
    </Form>
  );
}

function JsonForm({
  id,
  value,
  onValue,
  onSubmit,
  label,
}: {
  id: string;
  value: unknown;
  onValue: (value: unknown) => void;
  onSubmit: (value: unknown) => void;
  label: string;
}) {
  const [problem, setProblem] = useState<string>();
  return (
    <form
      id={id}
      onSubmit={(event) => {
        event.preventDefault();
        if (problem === undefined) onSubmit(value);
      }}
    >
      <JsonInput
        label={label}
        rows={8}
        value={value}
        onValue={(next, wrong) => {
          setProblem(wrong);
          if (wrong === undefined) onValue(next);
        }}
      />
    </form>
  );
}
