import { useTranslation } from "react-i18next";
import { weekOf } from "../../run/tasks.ts";
import { manage } from "../../text/manage/words.ts";
import { calendarDay, weekday } from "../../text/time.ts";
import { DayColumn } from "./day-column.tsx";
import { DaySteps, useShownDay } from "./day-steps.tsx";
import type { ViewProps } from "./tasks-page.tsx";

/** The tasks of a week by their days; a task stands at each day that it is planned for. */
export function Week({ tasks, today, onOpen }: ViewProps) {
  const { t } = useTranslation(manage);
  const [shown, go] = useShownDay(today);
  const days = weekOf(shown);
  return (
    <>
      <DaySteps
        title={t("tasks.week", { from: calendarDay(days[0] ?? shown), to: calendarDay(days[6] ?? shown) })}
        labels={[t("tasks.weekBefore"), t("tasks.weekAfter"), t("tasks.thisWeek")]}
        shown={shown}
        step={7}
        isNow={days.includes(today)}
        onGo={go}
      />
      <div className="task-columns" role="group" tabIndex={0} aria-label={t("tasks.view.week")}>
        {days.map((day) => (
          <DayColumn
            key={day}
            name={calendarDay(day)}
            head={
              <>
                {weekday(day)} <small>{calendarDay(day)}</small>
              </>
            }
            tasks={tasks.filter(({ scheduled_dates }) => scheduled_dates.includes(day))}
            all={tasks}
            place={{ day }}
            from={day}
            isToday={day === today}
            onOpen={onOpen}
          />
        ))}
      </div>
    </>
  );
}
