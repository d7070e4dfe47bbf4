import { useId, useRef, useState, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { runManually, usePreview, type ManualResult } from "../../../api/tools.ts";
import { SchemaForm } from "../../../form/schema-form.tsx";
import { CodeBlock } from "../../../markdown/code.tsx";
import { visible } from "../../../markdown/links.ts";
import { EffectView } from "../../../parts/approval/effect.tsx";
import { Button } from "../../../parts/button.tsx";
import { messageOf } from "../../../parts/states.tsx";
import { notify, notifyError } from "../../../parts/toast.tsx";
import { isDeep } from "../../../text/json-text.ts";

/** A call of a tool by hand, in a thread: its arguments, what it would do with them, and then what it gave. */
export function RunToolForm({
  threadId,
  tool,
  first,
  isComplete = true,
  parameters,
  action,
  onRan,
  children,
}: {
  threadId: string;
  tool: string;
  /** The arguments with which it begins. */
  first: unknown;
  /** Whether it can be called with them: otherwise nothing is asked before one has written something. */
  isComplete?: boolean;
  /** JSON Schema of the arguments. */
  parameters: unknown;
  /** The words of the button that runs it. */
  action: string;
  /** Called after each run, also one that failed. */
  onRan: () => void;
  /** Stands beside the button that runs it. */
  children?: ReactNode;
}) {
  const { t } = useTranslation();
  const form = useId();
  const [args, setArgs] = useState<unknown>(first);
  const preview = usePreview(threadId, { tool, args }, isComplete || args !== first);
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
      const given = await runManually(threadId, { tool, args }, data.approved_hash, key.current);
      if (given === undefined) notify(t("approval.changed"), { kind: "error" });
      setResult(given);
      key.current = crypto.randomUUID();
    } catch (error) {
      notifyError(error);
    } finally {
      setRunning(false);
      void preview.refetch();
      onRan();
    }
  };
  return (
    <>
      <SchemaForm
        id={form}
        label={t("tool.arguments")}
        schema={isDeep(first) ? undefined : parameters}
        value={args}
        onValue={setArgs}
        onSubmit={() => void run()}
      />
      {preview.error !== null && <p className="problem">{messageOf(preview.error)}</p>}
      {preview.data?.refused && <p className="problem">{preview.data.refused}</p>}
      {preview.data && (
        <EffectView
          approval={{ tool, args: null, effect: preview.data }}
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
        {children}
        <Button type="submit" form={form} kind="primary" disabled={!mayRun}>
          {action}
        </Button>
      </div>
    </>
  );
}
