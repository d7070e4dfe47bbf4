import Plus from "icon:plus";
import X from "icon:x";
import { ariaDescribedByIds, ErrorSchemaBuilder, type FieldProps, type WidgetProps } from "@rjsf/utils";
import { useId, useState } from "react";
import { useTranslation } from "react-i18next";
import * as z from "zod/mini";
import { Button, IconButton } from "../parts/button.tsx";
import { jsonText } from "../text/json-text.ts";
import { work } from "../text/inspector/work.ts";

const roles = ["human", "ai", "system", "tool"] as const;
const FormMessage = z.looseObject({ type: z.enum(roles), content: z.string() });
const FormMessages = z.array(FormMessage);
type FormMessage = z.infer<typeof FormMessage>;

function isRequiredMark(required: boolean | undefined): string {
  return required === true ? " *" : "";
}

/** The messages of an input: who says what. */
export function MessagesField({ formData, onChange, fieldPathId, schema, name, required }: FieldProps) {
  const { t } = useTranslation(work);
  const label = useId();
  const read = z.safeParse(FormMessages, formData ?? []);
  if (!read.success) {
    return (
      <JsonInput label={schema.title ?? name} value={formData} onValue={(value) => onChange(value, fieldPathId.path)} />
    );
  }
  const shown: readonly FormMessage[] = read.data.length === 0 ? [{ type: "human", content: "" }] : read.data;
  const send = (next: readonly FormMessage[]) => {
    const isEmpty = next.every(({ content }) => content === "");
    onChange(isEmpty && next.length <= 1 ? undefined : next, fieldPathId.path);
  };
  const change = (index: number, changes: Partial<FormMessage>) =>
    send(shown.map((message, at) => (at === index ? { ...message, ...changes } : message)));
  return (
    <div className="form-messages" role="group" aria-labelledby={label}>
      <span className="form-label" id={label}>
        {(schema.title ?? name) + isRequiredMark(required)}
      </span>
      {shown.map((message, index) => (
        <div key={index} className="form-message">
          <select
            className="filter"
            aria-label={t("form.role")}
            value={message.type}
            onChange={({ target }) => change(index, { type: roles.find((role) => role === target.value) ?? "human" })}
          >
            {roles.map((role) => (
              <option key={role} value={role}>
                {t(`form.${role}`)}
              </option>
            ))}
          </select>
          <textarea
            className="input"
            rows={Math.min(10, Math.max(2, message.content.split("\n").length))}
            aria-label={t("form.message", { at: index + 1 })}
            value={message.content}
            onChange={({ target }) => change(index, { content: target.value })}
          />
          <IconButton
            label={t("form.removeMessage")}
            disabled={shown.length === 1}
            onClick={() => send(shown.filter((_, at) => at !== index))}
          >
            <X size={16} />
          </IconButton>
        </div>
      ))}
      <Button size="small" kind="quiet" onClick={() => send([...shown, { type: "human", content: "" }])}>
        <Plus size={14} />
        {t("form.addMessage")}
      </Button>
    </div>
  );
}

/** A value for which there is no better field than JSON. */
export function JsonField({ formData, onChange, fieldPathId, schema, name, required }: FieldProps) {
  return (
    <JsonInput
      label={(schema.title ?? name) + isRequiredMark(required)}
      hint={schema.description}
      value={formData}
      onValue={(value, problem) =>
        onChange(
          value,
          fieldPathId.path,
          problem === undefined ? undefined : new ErrorSchemaBuilder().addErrors(problem).ErrorSchema,
        )
      }
    />
  );
}

/** A text that is read as JSON; `onValue` is called with what it says, or with what is wrong with it. */
export function JsonInput({
  label,
  hint,
  value,
  onValue,
  rows = 3,
}: {
  label: string;
  hint?: string | undefined;
  value: unknown;
  onValue: (value: unknown, problem?: string) => void;
  rows?: number;
}) {
  const { t } = useTranslation(work);
  const [text, setText] = useState(() => (value === undefined ? "" : jsonText(value)));
  const [problem, setProblem] = useState("");
  const id = useId();
  const change = (next: string) => {
    setText(next);
    if (next.trim() === "") {
      setProblem("");
      onValue(undefined);
      return;
    }
    try {
      const read: unknown = JSON.parse(next);
      setProblem("");
      onValue(read);
    } catch (error) {
      const said = t("form.notJson", { reason: error instanceof Error ? error.message : String(error) });
      setProblem(said);
      onValue(value, said);
    }
  };
  return (
    <div className="form-json">
      <label className="form-label" htmlFor={id}>
        {label} <small>JSON</small>
      </label>
      {hint !== undefined && <p className="hint">{hint}</p>}
      <textarea
        id={id}
        className="input mono"
        rows={Math.min(18, Math.max(rows, text.split("\n").length))}
        spellCheck={false}
        value={text}
        placeholder="{}"
        aria-invalid={problem !== "" || undefined}
        onChange={({ target }) => change(target.value)}
      />
      {problem !== "" && (
        <p className="problem" role="alert">
          {problem}
        </p>
      )}
    </div>
  );
}

/** A text, of as many lines as it has: in a field of one line its line breaks would be lost. */
export function TextWidget(props: WidgetProps) {
  const { id, htmlName, value, schema, options, registry, disabled, readonly, onChange, onBlur, onFocus } = props;
  const isText = [schema.type].flat().includes("string") && schema.format === undefined;
  const { BaseInputTemplate } = registry.templates;
  if (!isText) return <BaseInputTemplate {...props} />;
  const text = typeof value === "string" ? value : "";
  return (
    <textarea
      id={id}
      name={htmlName ?? id}
      className="form-control"
      rows={Math.min(14, text.split("\n").length)}
      value={text}
      disabled={disabled === true}
      readOnly={readonly === true}
      aria-describedby={ariaDescribedByIds(id)}
      onChange={({ target }) => onChange(target.value === "" ? options.emptyValue : target.value)}
      onBlur={({ target }) => onBlur(id, target.value)}
      onFocus={({ target }) => onFocus(id, target.value)}
    />
  );
}
