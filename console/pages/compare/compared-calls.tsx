import { useMemo } from "react";
import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import type { StartedRun } from "../../api/runs/all-runs.ts";
import { useRequest, useRequestsOf } from "../../api/runs/requests.ts";
import { readPayload } from "../../api/runs/trace.ts";
import { visible } from "../../markdown/links.ts";
import { DiffLines } from "../../parts/diff.tsx";
import { LongText } from "../../parts/values/json-view.tsx";
import { Failed, Loading } from "../../parts/states.tsx";
import type { Pair } from "../../run/compare.ts";
import type { Span } from "../../run/spans.ts";
import { diffOf } from "../../run/state-diff.ts";
import { jsonText } from "../../text/json-text.ts";
import { work } from "../../text/inspector/work.ts";

interface Call {
  run: StartedRun;
  span: Span | undefined;
}

/** What the two calls of a place were given and what came out of them, as a difference. */
export function ComparedCalls({ left, right, pair }: { left: StartedRun; right: StartedRun; pair: Pair }) {
  const { t } = useTranslation(work);
  const [one, other] = [
    { run: left, span: pair.left?.span },
    { run: right, span: pair.right?.span },
  ];
  const kind = (one.span ?? other.span)?.kind;
  return (
    <div className="compare-calls">
      {kind === "model" ? (
        <Requests left={one} right={other} />
      ) : (
        <Payloads title={t("run.input")} side="input" left={one} right={other} />
      )}
      <Payloads title={t("run.output")} side="output" left={one} right={other} />
    </div>
  );
}

function Payloads({ title, side, ...calls }: { title: string; side: "input" | "output"; left: Call; right: Call }) {
  return <Texts title={title} left={usePayload(calls.left, side)} right={usePayload(calls.right, side)} />;
}

interface Read {
  text: string | null | undefined;
  error: unknown;
}

/** A payload as indented JSON; `null` where none is kept. */
function usePayload({ run: { thread_id: threadId, run_id: runId }, span }: Call, side: "input" | "output"): Read {
  const isKept = span?.payloads[side] === true;
  const { data, error } = useQuery({
    enabled: isKept,
    queryKey: ["payload", threadId, runId, span?.id, side],
    queryFn: async ({ signal }) => {
      const read = await readPayload({ threadId, runId, spanId: span?.id ?? "", side }, false, signal);
      return read === undefined ? null : indented(read.text);
    },
  });
  return { text: isKept ? data : null, error };
}

function indented(text: string): string {
  try {
    return jsonText(JSON.parse(text));
  } catch {
    // Of a large one only the beginning was read.
    return text;
  }
}

function Requests({ left, right }: { left: Call; right: Call }) {
  const { t } = useTranslation(work);
  return <Texts title={t("run.request")} left={useSent(left)} right={useSent(right)} />;
}

/** The first request of a model call; one that is continued has more, which the inspector shows. */
function useSent({ run, span }: Call): Read {
  const { thread_id: threadId, run_id: runId } = run;
  const numbers = useRequestsOf(threadId, runId, { id: span?.model_call_id ?? "", status: span?.status ?? "" });
  const number = numbers.data?.[0];
  const sent = useRequest(threadId, runId, number ?? -1, number !== undefined);
  const isKept = typeof span?.model_call_id === "string" && (numbers.isPending || number !== undefined);
  const text = useMemo(() => (sent.data === undefined ? undefined : jsonText(sent.data.request)), [sent.data]);
  return { text: isKept ? text : null, error: numbers.error ?? sent.error };
}

function Texts({ title, left, right }: { title: string; left: Read; right: Read }) {
  const { t } = useTranslation(work);
  const error = left.error ?? right.error;
  const { text: before } = left;
  const { text: after } = right;
  const lines = useMemo(
    () =>
      typeof before === "string" && typeof after === "string" ? diffOf(before.split("\n"), after.split("\n")) : [],
    [before, after],
  );
  const shown = () => {
    if (error !== null) return <Failed error={error} />;
    if (before === undefined || after === undefined) return <Loading lines={2} />;
    if (before === null && after === null) return <p className="hint">{t("run.notKept")}</p>;
    if (before === after) return <p className="hint">{t("compare.sameText")}</p>;
    if (before !== null && after !== null) return <DiffLines lines={lines} />;
    return (
      <>
        <p className="hint">{t(before === null ? "compare.onlyRight" : "compare.onlyLeft")}</p>
        <LongText text={visible(before ?? after ?? "")} label={title} />
      </>
    );
  };
  return (
    <section>
      <h3>{title}</h3>
      {shown()}
    </section>
  );
}
