import * as z from "zod/mini";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { Decision } from "../../api/approvals.ts";
import type { Approval } from "../../api/shapes.ts";
import { isComposing } from "../../app/keys.ts";
import { CodeBlock } from "../../markdown/code.tsx";
import { jsonText } from "../../text/json-text.ts";
import { Button } from "../button.tsx";
import { lazyComponent } from "../loadable.ts";
import { Loading } from "../states.tsx";
import { focusAtFirst } from "../focus.ts";

/** Why a call is not to be done; the model reads it. */
export function RejectForm({ onSend, onCancel }: { onSend: (message: string) => void; onCancel: () => void }) {
  const { t } = useTranslation();
  const [text, setText] = useState("");
  return (
    <div className="approval-form">
      <label className="field">
        <span>{t("approval.reason")}</span>
        <textarea
          className="input"
          rows={2}
          maxLength={2_000}
          value={text}
          placeholder={t("approval.reasonPlaceholder")}
          ref={focusAtFirst}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={(event) => {
            if (isComposing(event.nativeEvent)) return;
            if (event.key === "Escape") {
              event.stopPropagation();
              onCancel();
            }
            if (event.key === "Enter" && !event.shiftKey) {
              event.preventDefault();
              onSend(text.trim());
            }
          }}
        />
      </label>
      <FormButtons onCancel={onCancel} onSend={() => onSend(text.trim())} label={t("approval.reject")} />
    </div>
  );
}

/** The end of a form: back, and what is done with it. With `form` it is that form that is sent. */
export function FormButtons({
  form,
  isSending = false,
  onCancel,
  onSend,
  label,
}: {
  form?: string;
  isSending?: boolean;
  onCancel: () => void;
  onSend?: () => void;
  label: string;
}) {
  const { t } = useTranslation();
  return (
    <div className="row-end">
      <Button kind="quiet" onClick={onCancel}>
        {t("app.cancel")}
      </Button>
      <Button
        kind="primary"
        type={form === undefined ? "button" : "submit"}
        form={form}
        disabled={isSending}
        onClick={onSend}
      >
        {label}
      </Button>
    </div>
  );
}

const Option = z.union([
  z.string(),
  z.pipe(
    z.looseObject({ label: z.optional(z.string()), title: z.optional(z.string()), value: z.optional(z.unknown()) }),
    z.transform(
      ({ label, title, value }) =>
        label ?? title ?? (typeof value === "string" ? value : (JSON.stringify(value) ?? "")),
    ),
  ),
]);
const Asked = z.looseObject({
  options: z.optional(z.array(Option)),
  suggestions: z.optional(z.array(Option)),
  hints: z.optional(z.array(z.string())),
  response_schema: z.optional(z.record(z.string(), z.unknown())),
});
const SchemaAnswer = lazyComponent(
  async () => (await import("./schema-answer.tsx")).SchemaAnswer,
  <Loading lines={2} />,
);

/** The answer to a question in words, by one of the options, or by any value a graph takes. */
export function AnswerForm({
  approval,
  onSend,
  isSending,
}: {
  approval: Approval;
  onSend: (decision: Decision) => void;
  isSending: boolean;
}) {
  const { t } = useTranslation();
  const [text, setText] = useState("");
  const asked = z.safeParse(Asked, approval.value).data;
  const options = [...(asked?.options ?? []), ...(asked?.suggestions ?? []), ...(asked?.hints ?? [])].filter(
    (option) => option !== "",
  );
  // Our own questions take words; a graph of a user may want any value.
  const isForeign = approval.kind === "question";
  const send = () => {
    const words = text.trim();
    if (words === "") return;
    const value = isForeign ? structureOf(words) : undefined;
    onSend(value === undefined ? { type: "answer", text: words } : { type: "answer", value });
  };
  return (
    <div className="approval-form">
      {isForeign && typeof approval.value !== "string" && approval.question === null && (
        <CodeBlock text={jsonText(approval.value)} language="json" isOpen={false} />
      )}
      {options.length > 0 && (
        <div className="suggestions">
          {options.map((option) => (
            <button
              key={option}
              type="button"
              className="suggestion"
              disabled={isSending}
              onClick={() => onSend({ type: "answer", text: option })}
            >
              {option}
            </button>
          ))}
        </div>
      )}
      {asked?.response_schema !== undefined && (
        <SchemaAnswer
          schema={asked.response_schema}
          isSending={isSending}
          onSend={(value) => onSend({ type: "answer", value })}
        />
      )}
      {asked?.response_schema === undefined && (
        <div className="answer-row">
          <textarea
            className="input"
            rows={1}
            value={text}
            aria-label={isForeign ? t("approval.answerJson") : t("approval.answerPlaceholder")}
            placeholder={isForeign ? t("approval.answerJson") : t("approval.answerPlaceholder")}
            onChange={(event) => setText(event.target.value)}
            onKeyDown={(event) => {
              if (isComposing(event.nativeEvent) || event.key !== "Enter" || event.shiftKey) return;
              event.preventDefault();
              send();
            }}
          />
          <Button kind="primary" disabled={isSending || text.trim() === ""} onClick={send}>
            {t("approval.respond")}
          </Button>
        </div>
      )}
    </div>
  );
}

/** The object or list that a text writes down. Numbers and the like stay the text that was written. */
function structureOf(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
