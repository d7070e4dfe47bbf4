import i18next from "i18next";
import { useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { useCallsOf, useSentRequest, type RequestDifference } from "../../api/context.ts";
import { visible } from "../../markdown/links.ts";
import { Button } from "../../parts/button.tsx";
import { DiffLines } from "../../parts/diff.tsx";
import { LongText } from "../../parts/values/json-view.tsx";
import { Failed, Loading } from "../../parts/states.tsx";
import { notify, notifyError } from "../../parts/toast.tsx";
import { diffOf } from "../../run/state-diff.ts";
import { work } from "../../text/inspector/work.ts";
import { jsonText } from "../../text/json-text.ts";
import { count, longTime } from "../../text/time.ts";
import { ChooseRun } from "../compare/choose-run.tsx";
import { curlOf } from "./as-text.ts";

/**
 * The requests of a thread's runs: each as it was sent, and how it differs from the one that its node made before. The newest one
 * is shown, and each new one in its place, until a run or a request is chosen; who chooses the newest run sees the new ones again.
 */
export function SentRequests({ threadId, lastRunId }: { threadId: string; lastRunId: string }) {
  const { t } = useTranslation(work);
  const [chosen, setChosen] = useState<{ run: string; number?: number }>();
  const run = chosen?.run ?? lastRunId;
  const filter = useMemo(() => ({ thread_id: threadId }), [threadId]);
  return (
    <section className="json-view context-request">
      <h2>{t("context.requests")}</h2>
      <ChooseRun
        label={t("context.run")}
        filter={filter}
        current={{ threadId, runId: run }}
        onChoose={({ runId }) => setChosen(runId === lastRunId ? undefined : { run: runId })}
      />
      <RequestsOf
        key={run}
        threadId={threadId}
        runId={run}
        chosen={chosen?.number}
        onChoose={(number) => setChosen({ run, number })}
      />
    </section>
  );
}

function RequestsOf({
  threadId,
  runId,
  chosen,
  onChoose,
}: {
  threadId: string;
  runId: string;
  /** The newest without one. */
  chosen: number | undefined;
  onChoose: (number: number) => void;
}) {
  const { t } = useTranslation(work);
  const calls = useCallsOf(threadId, runId);
  if (calls.isPending) return <Loading lines={3} />;
  if (calls.error !== null && calls.data === undefined) {
    return <Failed error={calls.error} onRetry={() => void calls.refetch()} />;
  }
  const list = calls.data ?? [];
  const number = chosen ?? list[0]?.number;
  if (number === undefined) return <p className="hint">{t("run.notKept")}</p>;
  return (
    <>
      <select
        className="filter"
        aria-label={t("context.requests")}
        value={number}
        onChange={({ target }) => onChoose(Number(target.value))}
      >
        {list.map((call) => (
          <option key={call.number} value={call.number}>
            {call.number} · {visible(call.node)} · {longTime(call.asked_at)}
          </option>
        ))}
      </select>
      <Sent threadId={threadId} runId={runId} number={number} />
    </>
  );
}

function Sent({ threadId, runId, number }: { threadId: string; runId: string; number: number }) {
  const { t } = useTranslation(work);
  const { data, error, refetch } = useSentRequest(threadId, runId, number);
  const text = useMemo(() => jsonText(data?.request), [data]);
  const curl = data && curlOf(data);
  const copy = (words: string) =>
    navigator.clipboard.writeText(words).then(() => notify(i18next.t("app.copied")), notifyError);
  if (error !== null) return <Failed error={error} onRetry={() => void refetch()} />;
  if (data === undefined) return <Loading lines={4} />;
  return (
    <>
      <h3>{t("context.difference")}</h3>
      {data.difference === null ? (
        <p className="hint">{t("context.first")}</p>
      ) : (
        <Difference difference={data.difference} />
      )}
      <div className="row-end">
        <h3>{t("run.request")}</h3>
        <span className="space" />
        <Button size="small" onClick={() => void copy(JSON.stringify(data.request))}>
          {t("context.copy")}
        </Button>
        {curl !== undefined && (
          <Button size="small" onClick={() => void copy(curl)}>
            {t("run.copyCurl")}
          </Button>
        )}
      </div>
      {!data.is_exact && <p className="hint">{t("context.notExact")}</p>}
      <LongText text={text} label={t("run.request")} isNumbered />
    </>
  );
}

function Difference({ difference }: { difference: RequestDifference }) {
  const { t } = useTranslation(work);
  const {
    same_messages: same,
    cache_break: broken,
    bytes,
    other_changes: others,
    messages,
    former_messages,
  } = difference;
  const lines = useMemo(
    () => diffOf(former_messages.flatMap(linesOf), messages.flatMap(linesOf)),
    [former_messages, messages],
  );
  return (
    <>
      <p>
        {t("context.same", { count: same, all: same + messages.length })}{" "}
        {broken === null
          ? t("context.cacheHolds")
          : t("context.cacheBreaks", { path: visible(broken.path), byte: count(broken.byte), bytes: count(bytes) })}
      </p>
      {others.length > 0 && <p>{t("context.othersChanged", { names: others.map(visible).join(", ") })}</p>}
      {lines.length > 0 && <DiffLines lines={lines} />}
    </>
  );
}

function linesOf(message: Record<string, unknown>): string[] {
  return jsonText(message).split("\n");
}
