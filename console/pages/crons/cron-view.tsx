import SearchX from "icon:search-x";
import Play from "icon:play";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useLocation } from "wouter";
import {
  changeCron,
  deleteCron,
  runCronNow,
  useCronRuns,
  useCrons,
  useNextDates,
  type Cron,
} from "../../api/shaping/crons.ts";
import { useAssistants } from "../../api/threads.ts";
import { cronAddress, runAddress, threadAddress } from "../../app/addresses.ts";
import { visible } from "../../markdown/links.ts";
import { Button } from "../../parts/button.tsx";
import { RunState, Took } from "../../parts/run-state.tsx";
import { Empty, Failed, Loading } from "../../parts/states.tsx";
import { notify, notifyError } from "../../parts/toast.tsx";
import { JsonView } from "../../parts/values/json-view.tsx";
import { manage } from "../../text/manage/words.ts";
import { Ago } from "../../parts/values/ago.tsx";
import { longTime } from "../../text/time.ts";
import { Facts } from "../facts.tsx";
import { DeleteButton } from "../forms/delete-button.tsx";
import { PlaceLink } from "../place-link.tsx";
import { CronForm } from "./cron-form.tsx";
import { NextTimes } from "./next-times.tsx";
import { rhythmWords } from "./rhythm-words.ts";

/** One schedule: when it is due, what it has started, and all that can be done with it. */
export function CronView({ id }: { id: string }) {
  const { t } = useTranslation(manage);
  const { data, error, refetch } = useCrons();
  const cron = data?.find(({ cron_id }) => cron_id === id);
  if (cron !== undefined) return <OneCron cron={cron} />;
  if (data !== undefined) return <Empty icon={<SearchX />} title={t("crons.gone")} hint={t("crons.goneHint")} />;
  return error === null ? <Loading lines={6} /> : <Failed error={error} onRetry={() => void refetch()} />;
}

function OneCron({ cron }: { cron: Cron }) {
  const { t } = useTranslation(manage);
  const [isEdited, setEdited] = useState(false);
  const assistant = useAssistants().data?.find((one) => one.assistant_id === cron.assistant_id);
  const { cron_id, schedule, timezone, end_time, on_run_completed, thread_id, enabled, payload } = cron;
  return (
    <div className="shaping-view">
      <CronHead cron={cron} onEdit={() => setEdited(!isEdited)} isEdited={isEdited} />
      {isEdited && (
        <CronForm
          first={{ schedule, timezone, end_time, on_run_completed, input: payload["input"] }}
          hasThread={thread_id !== null}
          action={t("prompts.save")}
          onClose={() => setEdited(false)}
          onSave={async (fields) => {
            await changeCron(cron_id, fields);
            setEdited(false);
            notify(t("crons.saved"));
          }}
        />
      )}
      <section className="prompt-part" aria-label={t("crons.next")}>
        <h2>{t("crons.next")}</h2>
        {enabled ? <Due cron={cron} /> : <p className="hint">{t("crons.isOff")}</p>}
      </section>
      <Facts
        title={t("models.facts")}
        rows={[
          [t("crons.assistant"), visible(assistant?.name ?? cron.assistant_id)],
          [t("crons.schedule"), visible(schedule)],
          [t("crons.zone"), timezone ?? "UTC"],
          [t("crons.end"), end_time === null ? t("crons.noEnd") : longTime(end_time)],
          ...(thread_id === null
            ? ([[t("crons.after"), t(on_run_completed === "keep" ? "crons.keep" : "crons.forget")]] as const)
            : []),
          [t("crons.since"), longTime(cron.created_at)],
        ]}
      />
      <LastRuns cron={cron} />
      <section className="prompt-part" aria-label={t("crons.payload")}>
        <h2>{t("crons.payload")}</h2>
        <JsonView value={payload} label={t("crons.payload")} />
      </section>
    </div>
  );
}

function Due({ cron }: { cron: Cron }) {
  const { data, error, refetch } = useNextDates(cron);
  if (data !== undefined) return <NextTimes dates={data ?? []} />;
  return error === null ? <Loading lines={3} /> : <Failed error={error} onRetry={() => void refetch()} />;
}

function CronHead({ cron, isEdited, onEdit }: { cron: Cron; isEdited: boolean; onEdit: () => void }) {
  const { t } = useTranslation(manage);
  const [, navigate] = useLocation();
  const [isBusy, setBusy] = useState(false);
  const { cron_id, schedule, thread_id, enabled } = cron;
  const perform = (act: () => Promise<void>) => {
    setBusy(true);
    void act()
      .catch(notifyError)
      .finally(() => setBusy(false));
  };
  const runNow = async () => {
    const run = await runCronNow(cron_id);
    navigate(runAddress(run.thread_id, run.run_id));
  };
  const toggle = async () => {
    await changeCron(cron_id, { enabled: !enabled });
    notify(t(enabled ? "crons.isOff" : "crons.isOn"));
  };
  return (
    <header className="prompt-head">
      <div>
        <h2>{visible(rhythmWords(t, schedule))}</h2>
        <p className="hint">
          {thread_id === null ? t("crons.ownThreads") : t("crons.oneThread")}
          {thread_id !== null && <PlaceLink address={threadAddress(thread_id)}>{t("files.toChat")}</PlaceLink>}
        </p>
      </div>
      <div className="filters">
        <Button size="small" kind="primary" disabled={isBusy} onClick={() => perform(runNow)}>
          <Play size={14} /> {t("crons.run")}
        </Button>
        <Button size="small" disabled={isBusy} onClick={() => perform(toggle)}>
          {t(enabled ? "crons.switchOff" : "crons.switchOn")}
        </Button>
        <Button size="small" aria-expanded={isEdited} onClick={onEdit}>
          {t("crons.edit")}
        </Button>
        <DeleteButton
          label={t("crons.delete")}
          hint={t("crons.deleteHint")}
          run={async () => {
            await deleteCron(cron_id);
            navigate(cronAddress());
          }}
        />
      </div>
    </header>
  );
}

/** What it has started, as far as that is kept. */
function LastRuns({ cron: { cron_id, thread_id, on_run_completed } }: { cron: Cron }) {
  const { t } = useTranslation(manage);
  const { data, error, refetch } = useCronRuns(cron_id);
  const isForgotten = thread_id === null && on_run_completed === "delete";
  return (
    <section className="prompt-part" aria-label={t("crons.runs")}>
      <h2>{t("crons.runs")}</h2>
      {data === undefined && error === null && <Loading lines={3} />}
      {data === undefined && error !== null && <Failed error={error} onRetry={() => void refetch()} />}
      {data?.length === 0 && <p className="hint">{t(isForgotten ? "crons.forgotten" : "crons.noRuns")}</p>}
      <ul className="cron-runs">
        {data?.map((run) => (
          <li key={run.run_id}>
            <RunState status={run.status} />
            <Ago at={run.queued_at} />
            <span>
              <Took from={run.started_at} to={run.ended_at} />
            </span>
            <PlaceLink address={runAddress(run.thread_id, run.run_id)}>{t("files.toRun")}</PlaceLink>
          </li>
        ))}
      </ul>
    </section>
  );
}
