import { useId, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { runByHand, usePreview, type ManualResult } from "../../../api/tools.ts";
import { SchemaForm } from "../../../form/schema-form.tsx";
import { CodeBlock } from "../../../markdown/code.tsx";
import { visible } from "../../../markdown/links.ts";
import { EffectView } from "../../../parts/approval/effect.tsx";
import { Button } from "../../../parts/button.tsx";
import { Dialog } from "../../../parts/dialog.tsx";
import { messageOf } from "../../../parts/states.tsx";
import { notify, notifyError } from "../../../parts/toast.tsx";
import { isDeep } from "../../../text/json-text.ts";
import type { Call } from "../../../thread/items.ts";
import { useOpenThread } from "../thread-context.tsx";

/** A call of a tool once more, by hand, with the same arguments or others: what it would do is shown before. */
export function RunToolDialog({ call, parameters, onClose }: { call: Call; parameters: unknown; onClose: () => void }) {
  const { t } = useTranslation();
  const thread = useOpenThread();
  const form = useId();
  const [args, setArgs] = useState<unknown>(call.args ?? {});
  const preview = usePreview(thread.id, { tool: call.name, args });
  const [isWhole, setWhole] = useState(false);
  const [isRunning, setRunning] = useState(false);
  const [result, setResult] = useState<ManualResult>();
  // The same press, sent again, counts once.
  const key = useRef(crypto.randomUUID());
  const mayRun = preview.isCurrent && preview.data?.refused === null && !isRunning;
  const run = async () => {
    const { data } = preview;
    if (data === undefined || !mayRun) return;
    setRunning(true);
    try {
      const given = await runByHand(thread.id, { tool: call.name, args }, data.approved_hash, key.current);
      if (given === undefined) notify(t("approval.changed"), { kind: "error" });
      setResult(given);
      key.current = crypto.randomUUID();
    } catch (error) {
      notifyError(error);
    } finally {
      setRunning(false);
      void preview.refetch();
      void thread.sync();
    }
  };
  return (
    <Dialog title={t("tool.again", { tool: visible(call.name) })} onClose={onClose} size="wide">
      <div className="dialog-body">
        <p className="hint">{t("tool.againHint")}</p>
        <SchemaForm
          id={form}
          label={t("tool.arguments")}
          schema={isDeep(call.args) ? undefined : parameters}
          value={args}
          onValue={setArgs}
          onSubmit={() => void run()}
        />
        {preview.error !== null && <p className="problem">{messageOf(preview.error)}</p>}
        {preview.data?.refused && <p className="problem">{preview.data.refused}</p>}
        {preview.data && (
          <EffectView
            approval={{ tool: call.name, args: null, effect: preview.data }}
            isWhole={isWhole}
            onToggle={() => setWhole(!isWhole)}
          />
        )}
        <div role="status">
          {result !== undefined && (
            <div className="tool-result" data-failed={!result.success || undefined}>
              <p className="tool-label">{result.success ? t("tool.result") : t("tool.error")}</p>
              <CodeBlock text={visible(result.content ?? result.message)} language="" isOpen={false} />
            </div>
          )}
        </div>
        <div className="row-end">
          <Button kind="quiet" onClick={onClose}>
            {t("app.close")}
          </Button>
          <Button type="submit" form={form} kind="primary" disabled={!mayRun}>
            {t("tool.run")}
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
