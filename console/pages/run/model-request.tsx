import { useTranslation } from "react-i18next";
import { useRequest, useRequestOf } from "../../api/runs/requests.ts";
import { JsonView } from "../../parts/json-view.tsx";
import { Failed, Loading } from "../../parts/states.tsx";
import type { Span } from "../../run/spans.ts";
import { work } from "../../text/inspector/work.ts";

/** What a model call sent, where it is kept; graphs of others keep nothing. */
export function ModelRequest({ span, threadId, runId }: { span: Span; threadId: string; runId: string }) {
  const { t } = useTranslation(work);
  const call = useRequestOf(threadId, runId, span).data;
  if (call === undefined) return null;
  return (
    <section>
      <h3>{t("run.request")}</h3>
      <Sent threadId={threadId} runId={runId} number={call.number} />
    </section>
  );
}

function Sent({ threadId, runId, number }: { threadId: string; runId: string; number: number }) {
  const { t } = useTranslation(work);
  const { data, error, refetch } = useRequest(threadId, runId, number);
  if (error !== null) return <Failed error={error} onRetry={() => void refetch()} />;
  if (data === undefined) return <Loading lines={2} />;
  return <JsonView value={data.request} label={t("run.request")} />;
}
