import { useTranslation } from "react-i18next";
import { useRequest, useRequestsOf } from "../../api/runs/requests.ts";
import { JsonView } from "../../parts/values/json-view.tsx";
import { Failed, Loading } from "../../parts/states.tsx";
import { work } from "../../text/inspector/work.ts";

/** What a model call sent, where it is kept; graphs of others keep nothing. */
export function ModelRequests({
  call,
  ...run
}: {
  call: { id: string; status: string };
  threadId: string;
  runId: string;
}) {
  const { t } = useTranslation(work);
  const numbers = useRequestsOf(run.threadId, run.runId, call).data ?? [];
  return numbers.map((number, index) => (
    <section key={number}>
      <h3>{numbers.length === 1 ? t("run.request") : t("run.requestOf", { number: index + 1 })}</h3>
      <Sent {...run} number={number} />
    </section>
  ));
}

function Sent({ threadId, runId, number }: { threadId: string; runId: string; number: number }) {
  const { t } = useTranslation(work);
  const { data, error, refetch } = useRequest(threadId, runId, number);
  if (error !== null) return <Failed error={error} onRetry={() => void refetch()} />;
  if (data === undefined) return <Loading lines={2} />;
  return <JsonView value={data.request} label={t("run.request")} isNumbered />;
}
