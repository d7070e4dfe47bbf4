import { useTranslation } from "react-i18next";
import { useRequest, useRequests } from "../../api/runs/requests.ts";
import { Disclosure } from "../../parts/disclosure.tsx";
import { JsonView } from "../../parts/json-view.tsx";
import { Failed, Loading } from "../../parts/states.tsx";
import type { Span } from "../../run/spans.ts";
import { work } from "../../text/inspector/work.ts";

/** What a model call sent, as far as it is kept; graphs of others keep none. */
export function ModelRequests({ span, threadId, runId }: { span: Span; threadId: string; runId: string }) {
  const { t } = useTranslation(work);
  const requests = useRequests(threadId, runId, span).data ?? [];
  if (requests.length === 0) return null;
  return (
    <section>
      <h3>{t("run.request")}</h3>
      {requests.map(({ number, node }) => (
        <Disclosure key={number} title={`${number} · ${node}`} isOpenAtFirst={requests.length === 1}>
          <Sent threadId={threadId} runId={runId} number={number} />
        </Disclosure>
      ))}
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
