import { useState } from "react";
import { useTranslation } from "react-i18next";
import { changeTask } from "../../api/shaping/tasks.ts";
import { visible } from "../../markdown/links.ts";
import { notifyError } from "../../parts/toast.tsx";
import type { Task } from "../../run/tasks.ts";
import { manage } from "../../text/manage/words.ts";
import { calendarDay } from "../../text/time.ts";
import { dragOf, MoveMenu } from "./moving.tsx";

/** A task: done or not, its words, and its days where they are not said by its place. */
export function TaskRow({
  task,
  onOpen,
  hasDays = true,
  from,
}: {
  task: Task;
  onOpen: (id: string) => void;
  hasDays?: boolean;
  /** The day that it stands at. */
  from?: string | undefined;
}) {
  const { t } = useTranslation(manage);
  const [isBusy, setBusy] = useState(false);
  const { id, title, completed, scheduled_dates: days } = task;
  const toggle = async () => {
    setBusy(true);
    try {
      await changeTask(id, { completed: !completed });
    } finally {
      setBusy(false);
    }
  };
  return (
    <div className="task-row" data-done={completed || undefined} {...dragOf(task, from)}>
      <input
        type="checkbox"
        checked={completed}
        disabled={isBusy}
        aria-label={t("tasks.finish", { title: visible(title) })}
        onChange={() => void toggle().catch(notifyError)}
      />
      <button type="button" className="task-words" onClick={() => onOpen(id)}>
        {visible(title)}
        {hasDays && days.length > 0 && <small>{days.map((day) => calendarDay(day)).join(" · ")}</small>}
      </button>
      <MoveMenu task={task} from={from} />
    </div>
  );
}
