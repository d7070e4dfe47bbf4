import CalendarClock from "icon:calendar-clock";
import Plus from "icon:plus";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useLocation } from "wouter";
import { createCron, useCrons } from "../../api/shaping/crons.ts";
import { useAssistants } from "../../api/threads.ts";
import { cronAddress } from "../../app/addresses.ts";
import { visible } from "../../markdown/links.ts";
import { Button } from "../../parts/button.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Empty, Failed, Loading } from "../../parts/states.tsx";
import { manage } from "../../text/manage/words.ts";
import { ListAndOne, ListEntry } from "../list-and-one.tsx";
import { CronForm } from "./cron-form.tsx";
import { CronView } from "./cron-view.tsx";
import { rhythmWords } from "./rhythm-words.ts";

/** What the clock starts: when, with what, and what came of it. */
export function CronsPage({ id }: { id: string | undefined }) {
  const { t } = useTranslation(manage);
  const [, navigate] = useLocation();
  const [isAdding, setAdding] = useState(false);
  return (
    <>
      <ListAndOne
        title={t("crons.title")}
        back={cronAddress()}
        isOpen={id !== undefined}
        actions={
          <Button size="small" onClick={() => setAdding(true)}>
            <Plus size={15} /> {t("crons.add")}
          </Button>
        }
        list={<CronList current={id} onOpen={(one) => navigate(cronAddress(one))} />}
      >
        {id === undefined ? (
          <Empty icon={<CalendarClock />} title={t("crons.choose")} hint={t("crons.chooseHint")} />
        ) : (
          <CronView key={id} id={id} />
        )}
      </ListAndOne>
      {isAdding && <NewCron onClose={() => setAdding(false)} />}
    </>
  );
}

function CronList({ current, onOpen }: { current: string | undefined; onOpen: (id: string) => void }) {
  const { t } = useTranslation(manage);
  const { data, error, refetch } = useCrons();
  const assistants = useAssistants().data ?? [];
  if (data === undefined) {
    return error === null ? <Loading lines={6} /> : <Failed error={error} onRetry={() => void refetch()} />;
  }
  if (data.length === 0) return <p className="hint">{t("crons.empty")}</p>;
  return (
    <ul>
      {data.map(({ cron_id, assistant_id, schedule, enabled, next_run_date }) => (
        <li key={cron_id}>
          <ListEntry
            title={visible(rhythmWords(t, schedule))}
            name={visible(assistants.find((one) => one.assistant_id === assistant_id)?.name ?? assistant_id)}
            isHere={cron_id === current}
            chip={enabled ? (next_run_date === null ? t("crons.over") : undefined) : t("crons.off")}
            onOpen={() => onOpen(cron_id)}
          />
        </li>
      ))}
    </ul>
  );
}

function NewCron({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation(manage);
  const [, navigate] = useLocation();
  const assistants = useAssistants().data ?? [];
  const [assistant, setAssistant] = useState("agent");
  const chosen = assistants.find((one) => one.assistant_id === assistant || one.graph_id === assistant);
  return (
    <Dialog title={t("crons.add")} onClose={onClose} size="wide">
      <div className="dialog-body">
        <label className="field">
          <span>{t("crons.assistant")}</span>
          <select
            className="filter"
            value={chosen?.assistant_id ?? ""}
            onChange={({ target }) => setAssistant(target.value)}
          >
            {assistants.map(({ assistant_id, name }) => (
              <option key={assistant_id} value={assistant_id}>
                {visible(name ?? assistant_id)}
              </option>
            ))}
          </select>
        </label>
        <CronForm
          first={{
            schedule: "0 9 * * 1-5",
            timezone: Intl.DateTimeFormat().resolvedOptions().timeZone,
            end_time: null,
            on_run_completed: "keep",
            input: { messages: [{ type: "human", content: "" }] },
          }}
          hasThread={false}
          action={t("crons.add")}
          onClose={onClose}
          onSave={async (fields) => {
            const id = await createCron(chosen?.assistant_id ?? assistant, fields);
            onClose();
            navigate(cronAddress(id));
          }}
        />
      </div>
    </Dialog>
  );
}
