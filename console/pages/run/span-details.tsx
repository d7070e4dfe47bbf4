import X from "icon:x";
import { useTranslation } from "react-i18next";
import { visible } from "../../markdown/links.ts";
import { IconButton } from "../../parts/button.tsx";
import { Payload } from "../../parts/values/payload.tsx";
import type { Span } from "../../run/spans.ts";
import { count, longTime, preciseDuration } from "../../text/time.ts";
import { ModelRequests } from "./model-request.tsx";
import { useSpanTitle } from "./span-title.ts";
import { work } from "../../text/inspector/work.ts";

/** A part of a run: its times, what it used, what went in and what came out. */
export function SpanDetails({
  span,
  callNumber,
  threadId,
  runId,
  onClose,
  onCheckpoint,
}: {
  span: Span;
  /** Of a model call, where there are several. */
  callNumber: number | undefined;
  threadId: string;
  runId: string;
  onClose: () => void;
  onCheckpoint: (checkpoint: string) => void;
}) {
  const { t } = useTranslation(work);
  const { start, end, first_token: first, usage, checkpoint_id: checkpoint } = span;
  const title = useSpanTitle(span, callNumber);
  const place = { threadId, runId, spanId: span.id };
  return (
    <aside className="span-details" aria-label={t("run.details")}>
      <header>
        <i className="span-mark" data-kind={span.kind} data-status={span.status} />
        <h2>{title}</h2>
        <IconButton label={t("run.close")} onClick={onClose}>
          <X size={16} />
        </IconButton>
      </header>
      <dl className="run-facts">
        <div>
          <dt>{t(`run.kind.${span.kind}`)}</dt>
          <dd>{visible(span.model ?? span.node ?? title)}</dd>
        </div>
        {start !== null && (
          <div>
            <dt>{t("run.started")}</dt>
            <dd>{longTime(new Date(start).toISOString())}</dd>
          </div>
        )}
        {start !== null && end !== null && (
          <div>
            <dt>{t("run.duration")}</dt>
            <dd>{preciseDuration(end - start)}</dd>
          </div>
        )}
        {start !== null && first !== null && (
          <div>
            <dt>{t("run.firstToken")}</dt>
            <dd>{preciseDuration(first - start)}</dd>
          </div>
        )}
        {usage !== null && (
          <>
            <div>
              <dt>{t("run.tokensIn")}</dt>
              <dd>{count(usage.input_tokens)}</dd>
            </div>
            <div>
              <dt>{t("run.tokensOut")}</dt>
              <dd>{count(usage.output_tokens)}</dd>
            </div>
          </>
        )}
      </dl>
      {checkpoint !== null && (
        <button type="button" className="link" onClick={() => onCheckpoint(checkpoint)}>
          {t("run.checkpoint")} …{checkpoint.slice(-8)}
        </button>
      )}
      {span.error !== null && <p className="problem">{visible(`${span.error.error}: ${span.error.message}`)}</p>}
      {span.model_call_id !== null && (
        <ModelRequests call={{ id: span.model_call_id, status: span.status }} threadId={threadId} runId={runId} />
      )}
      {span.payloads.input && (
        <section>
          <h3>{t("run.input")}</h3>
          <Payload {...place} side="input" />
        </section>
      )}
      {span.payloads.output && (
        <section>
          <h3>{t("run.output")}</h3>
          <Payload {...place} side="output" />
        </section>
      )}
    </aside>
  );
}
