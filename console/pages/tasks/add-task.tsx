import Plus from "icon:plus";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { createTask } from "../../api/shaping/tasks.ts";
import { Button } from "../../parts/button.tsx";
import { notifyError } from "../../parts/toast.tsx";
import { visible } from "../../markdown/links.ts";
import { plannedIn } from "../../run/planned-words.ts";
import { calendarDay, weekday } from "../../text/time.ts";
import { manage } from "../../text/manage/words.ts";

/** A new task: its words, and maybe a day. It belongs to the area that is shown. */
export function AddTask({ area, today }: { area: string | undefined; today: string }) {
  const { t } = useTranslation(manage);
  const [title, setTitle] = useState("");
  const [chosen, setDay] = useState("");
  // A day that was chosen counts for more than one that is said.
  const said = chosen === "" ? plannedIn(title, today) : undefined;
  const day = said?.day ?? chosen;
  const [isBusy, setBusy] = useState(false);
  const add = async () => {
    setBusy(true);
    try {
      const planned = { ...(day !== "" && { scheduled_date: day }), ...(area !== undefined && { area_id: area }) };
      await createTask({ title: said?.title ?? title.trim(), ...planned });
      setTitle((now) => (now === title ? "" : now));
    } finally {
      setBusy(false);
    }
  };
  return (
    <form
      className="task-add"
      aria-label={t("tasks.add")}
      onSubmit={(event) => {
        event.preventDefault();
        if (title.trim() !== "" && !isBusy) void add().catch(notifyError);
      }}
    >
      <input
        className="input"
        value={title}
        maxLength={500}
        aria-label={t("tasks.new")}
        placeholder={t("tasks.newHint")}
        onChange={({ target }) => setTitle(target.value)}
      />
      <input
        className="input"
        type="date"
        aria-label={t("tasks.day")}
        value={day}
        onChange={({ target }) => setDay(target.value)}
      />
      <Button kind="primary" type="submit" disabled={title.trim() === "" || isBusy}>
        <Plus size={16} /> {t("tasks.add")}
      </Button>
      {said !== undefined && (
        <p className="hint" role="status">
          {t("tasks.understood", { title: visible(said.title), day: `${weekday(said.day)} ${calendarDay(said.day)}` })}
        </p>
      )}
    </form>
  );
}
