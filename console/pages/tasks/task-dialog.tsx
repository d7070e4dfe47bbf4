import X from "icon:x";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import {
  changeTask,
  deleteTask,
  planTask,
  unplanTask,
  useAreas,
  useTask,
  useTaskCalls,
} from "../../api/shaping/tasks.ts";
import { messageAddress, threadAddress } from "../../app/addresses.ts";
import { visible } from "../../markdown/links.ts";
import { Button, IconButton } from "../../parts/button.tsx";
import { Confirm } from "../../parts/confirm.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Failed, Loading } from "../../parts/states.tsx";
import { notifyError } from "../../parts/toast.tsx";
import type { Task } from "../../run/tasks.ts";
import { manage } from "../../text/manage/words.ts";
import { Ago } from "../../parts/values/ago.tsx";
import { calendarDay, longTime } from "../../text/time.ts";
import { Facts } from "../facts.tsx";
import { PlaceLink } from "../place-link.tsx";
import { areaName } from "./area-name.ts";

/** One task: its words, its days, its area, and since when it is as it is. */
export function TaskDialog({ id, today, onClose }: { id: string; today: string; onClose: () => void }) {
  const { t } = useTranslation(manage);
  const { data, error, refetch } = useTask(id);
  const [isAsked, setAsked] = useState(false);
  if (isAsked) {
    return (
      <Confirm
        title={t("tasks.delete")}
        hint={t("tasks.deleteHint")}
        action={t("tasks.delete")}
        run={() => deleteTask(id)}
        onClose={() => {
          setAsked(false);
          onClose();
        }}
      />
    );
  }
  return (
    <Dialog title={t("tasks.task")} onClose={onClose}>
      <div className="dialog-body">
        {data === undefined && error === null && <Loading lines={4} />}
        {error !== null && (
          <Failed
            error={error}
            onRetry={() => void refetch()}
            gone={{ title: t("tasks.gone"), hint: t("tasks.goneHint") }}
          />
        )}
        {data !== undefined && error === null && <OneTask task={data} today={today} onDelete={() => setAsked(true)} />}
      </div>
    </Dialog>
  );
}

function OneTask({ task, today, onDelete }: { task: Task; today: string; onDelete: () => void }) {
  const { t } = useTranslation(manage);
  const { id, completed, area_id, thread_id, created_at, updated_at } = task;
  const [title, setTitle] = useState(task.title);
  const areas = useAreas(today).data ?? [];
  const known = new Set([...areas.flatMap((area) => area.area_id ?? []), ...(area_id === null ? [] : [area_id])]);
  const perform = (change: Promise<void>) => void change.catch(notifyError);
  const isChanged = title.trim() !== "" && title.trim() !== task.title;
  return (
    <div className="task-one">
      <form
        className="task-add"
        aria-label={t("tasks.words")}
        onSubmit={(event) => {
          event.preventDefault();
          if (isChanged) perform(changeTask(id, { title: title.trim() }));
        }}
      >
        <input
          className="input"
          value={title}
          maxLength={500}
          aria-label={t("tasks.words")}
          onChange={({ target }) => setTitle(target.value)}
        />
        <Button type="submit" disabled={!isChanged}>
          {t("prompts.save")}
        </Button>
      </form>
      <label className="check">
        <input
          type="checkbox"
          checked={completed}
          onChange={() => perform(changeTask(id, { completed: !completed }))}
        />
        <span>{t("tasks.state.done")}</span>
      </label>
      <Days task={task} />
      {known.size > 0 && (
        <label className="task-area">
          <span>{t("tasks.area")}</span>
          <select
            className="input"
            value={area_id ?? ""}
            onChange={({ target }) => perform(changeTask(id, { area_id: target.value || null }))}
          >
            <option value="">{t("tasks.noArea")}</option>
            {[...known].map((one) => (
              <option key={one} value={one}>
                {areaName(t, one)}
              </option>
            ))}
          </select>
        </label>
      )}
      <Facts
        title={t("tasks.history")}
        rows={[
          [t("tasks.made"), longTime(created_at)],
          [t("tasks.changed"), longTime(updated_at)],
        ]}
      />
      {thread_id !== null && <FromChat threadId={thread_id} taskId={id} />}
      <div className="row-end">
        <Button kind="quiet" onClick={onDelete}>
          {t("tasks.delete")}
        </Button>
      </div>
    </div>
  );
}

/** The chat that a task came from, and what its calls have done to it; nothing where the chat is gone. */
function FromChat({ threadId, taskId }: { threadId: string; taskId: string }) {
  const { t, i18n } = useTranslation(manage);
  const calls = useTaskCalls(threadId, taskId);
  if (calls.data === undefined) return null;
  return (
    <section className="prompt-part" aria-label={t("tasks.inChat")}>
      <h2>{t("tasks.inChat")}</h2>
      <ol>
        {calls.data.map(({ id, at, message, said }) => (
          <li key={id} className="row-between">
            <PlaceLink address={messageAddress(threadId, message)}>
              {visible((i18n.language === "zh" && said.message_zh) || said.message)}
            </PlaceLink>
            <Ago at={at} className="hint" />
          </li>
        ))}
      </ol>
      {calls.data.length === 0 && <PlaceLink address={threadAddress(threadId)}>{t("files.toChat")}</PlaceLink>}
    </section>
  );
}

function Days({ task: { id, scheduled_dates: days } }: { task: Task }) {
  const { t } = useTranslation(manage);
  const [day, setDay] = useState("");
  const perform = (change: Promise<void>) => void change.catch(notifyError);
  return (
    <section className="prompt-part" aria-label={t("tasks.days")}>
      <h2>{t("tasks.days")}</h2>
      {days.length === 0 && <p className="hint">{t("tasks.state.undated")}</p>}
      <ul className="filters task-days">
        {days.map((one) => (
          <li key={one} className="chip">
            {calendarDay(one)}
            <IconButton
              label={t("tasks.unplan", { day: visible(calendarDay(one)) })}
              onClick={() => perform(unplanTask(id, one))}
            >
              <X size={14} />
            </IconButton>
          </li>
        ))}
      </ul>
      <form
        className="task-add"
        aria-label={t("tasks.plan")}
        onSubmit={(event) => {
          event.preventDefault();
          if (day !== "") perform(planTask(id, day).then(() => setDay("")));
        }}
      >
        <input
          className="input"
          type="date"
          aria-label={t("tasks.day")}
          value={day}
          onChange={({ target }) => setDay(target.value)}
        />
        <Button type="submit" disabled={day === ""}>
          {t("tasks.plan")}
        </Button>
      </form>
    </section>
  );
}
