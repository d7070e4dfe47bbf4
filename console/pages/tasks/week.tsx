import ChevronLeft from "icon:chevron-left";
import ChevronRight from "icon:chevron-right";
import { useTranslation } from "react-i18next";
import { useSearchParams } from "wouter";
import { Button, IconButton } from "../../parts/button.tsx";
import { dayAfter, isDay } from "../../run/model-days.ts";
import { weekOf } from "../../run/tasks.ts";
import { manage } from "../../text/manage/words.ts";
import { calendarDay, weekday } from "../../text/time.ts";
import { TaskRows } from "./task-list.tsx";
import type { ViewProps } from "./tasks-page.tsx";

/** The tasks of a week by their days; a task stands at each day that it is planned for. */
export function Week({ tasks, today, onOpen }: ViewProps) {
  const { t } = useTranslation(manage);
  const [params, setParams] = useSearchParams();
  const asked = params.get("day");
  const shown = isDay(asked) ? asked : today;
  const days = weekOf(shown);
  const go = (day: string) =>
    setParams((before) => {
      const next = new URLSearchParams(before);
      if (day === today) next.delete("day");
      else next.set("day", day);
      return next;
    });
  return (
    <>
      <div className="filters">
        <IconButton label={t("tasks.weekBefore")} onClick={() => go(dayAfter(shown, -7))}>
          <ChevronLeft size={18} />
        </IconButton>
        <span>{t("tasks.week", { from: calendarDay(days[0] ?? shown), to: calendarDay(days[6] ?? shown) })}</span>
        <IconButton label={t("tasks.weekAfter")} onClick={() => go(dayAfter(shown, 7))}>
          <ChevronRight size={18} />
        </IconButton>
        {!days.includes(today) && (
          <Button size="small" onClick={() => go(today)}>
            {t("tasks.thisWeek")}
          </Button>
        )}
      </div>
      <div className="task-columns" data-week role="group" tabIndex={0} aria-label={t("tasks.view.week")}>
        {days.map((day) => {
          const own = tasks.filter(({ scheduled_dates }) => scheduled_dates.includes(day));
          return (
            <section key={day} aria-label={calendarDay(day)} data-today={day === today || undefined}>
              <h2>
                {weekday(day)} <small>{calendarDay(day)}</small>
              </h2>
              {own.length === 0 ? <p className="hint">–</p> : <TaskRows tasks={own} onOpen={onOpen} hasDays={false} />}
            </section>
          );
        })}
      </div>
    </>
  );
}
