import * as z from "zod/mini";
import { useId, useState } from "react";
import { useTranslation } from "react-i18next";
import type { Approval } from "../../api/shapes.ts";
import { useParameters, usePreview } from "../../api/tools.ts";
import { SchemaForm } from "../../form/schema-form.tsx";
import { isDeep, jsonText } from "../../text/json-text.ts";
import { Loading, messageOf } from "../states.tsx";
import { EffectView } from "./effect.tsx";
import { FormButtons } from "./forms.tsx";

const Arguments = z.record(z.string(), z.unknown());
/** What LangChain's middleware says of the arguments of a tool that only the graph knows. */
const Review = z.looseObject({ argsSchema: z.optional(Arguments), args_schema: z.optional(Arguments) });
const Reviewed = z.looseObject({
  reviewConfigs: z.optional(z.array(Review)),
  review_configs: z.optional(z.array(Review)),
});

function ownSchema(value: unknown): unknown {
  const { reviewConfigs, review_configs } = z.safeParse(Reviewed, value).data ?? {};
  const [first] = reviewConfigs ?? review_configs ?? [];
  return first?.argsSchema ?? first?.args_schema;
}

/** The arguments of a call as a form by the tool's schema, or as JSON, to be changed before it is done. */
export function EditForm({
  approval,
  isSending,
  onSend,
  onCancel,
}: {
  approval: Approval;
  isSending: boolean;
  onSend: (args: Record<string, unknown>) => void;
  onCancel: () => void;
}) {
  const { t } = useTranslation();
  const form = useId();
  // A tool of a user's graph may have the name of one of the server's.
  const isOurs = approval.hash !== null;
  const { parameters, isPending } = useParameters(isOurs ? approval.tool : null);
  const [value, setValue] = useState<unknown>(approval.args ?? {});
  const [problem, setProblem] = useState("");
  const send = (submitted: unknown) => {
    const args = z.safeParse(Arguments, submitted ?? {});
    if (args.success) onSend(args.data);
    else setProblem(t("approval.notObject"));
  };
  if (isPending) return <Loading lines={3} />;
  return (
    <div className="approval-form">
      <SchemaForm
        id={form}
        label={t("approval.editArguments")}
        schema={isDeep(approval.args) ? undefined : (ownSchema(approval.value) ?? parameters)}
        value={value}
        onValue={setValue}
        onSubmit={send}
      />
      {problem !== "" && (
        <p className="problem" role="alert">
          {problem}
        </p>
      )}
      {isOurs && <EditedEffect approval={approval} args={value} />}
      <FormButtons form={form} isSending={isSending} onCancel={onCancel} label={t("approval.approve")} />
    </div>
  );
}

/** What the call would do with other arguments. */
function EditedEffect({ approval, args }: { approval: Approval; args: unknown }) {
  const { t } = useTranslation();
  const [isWhole, setWhole] = useState(false);
  const isChanged = jsonText(args) !== jsonText(approval.args);
  const { data, error } = usePreview(approval.thread_id, { tool: approval.tool ?? "", args }, isChanged);
  if (!isChanged) return null;
  return (
    <div role="status">
      <p className="tool-label">{t("approval.editedEffect")}</p>
      {error !== null && <p className="problem">{messageOf(error)}</p>}
      {data?.refused && <p className="problem">{data.refused}</p>}
      {data && (
        <EffectView
          approval={{ tool: approval.tool, args: null, effect: data }}
          isWhole={isWhole}
          onToggle={() => setWhole(!isWhole)}
        />
      )}
    </div>
  );
}
