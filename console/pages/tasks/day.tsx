import { useTranslation } from "react-i18next";
import { byState } from "../../run/tasks.ts";
import { manage } from "../../text/manage/words.ts";
import { dayName } from "../../text/time.ts";
import { DayColumn } from "./day-column.tsx";
import { DaySteps, useShownDay } from "./day-steps.tsx";
import type { ViewProps } from "./tasks-page.tsx";

/** The tasks of one day, beside what is late and what has no day yet. */
export function Day({ tasks, today, onOpen }: ViewProps) {
  const { t } = useTranslation(manage);
  const [shown, go] = useShownDay(today);
  const { overdue, undated } = byState(tasks, today);
  const own = tasks.filter(({ scheduled_dates }) => scheduled_dates.includes(shown));
  const late = overdue.filter((task) => !own.includes(task));
  const columns = { all: tasks, onOpen };
  return (
    <>
      <DaySteps
        title={dayName(`${shown}T12:00`)}
        labels={[t("tasks.dayBefore"), t("tasks.dayAfter"), t("tasks.state.today")]}
        shown={shown}
        step={1}
        isNow={shown === today}
        onGo={(day) => go(day ?? today)}
      />
      <div className="task-columns" role="group" tabIndex={0} aria-label={t("tasks.view.day")}>
        <DayColumn
          {...columns}
          name={t("tasks.ofDay")}
          tasks={own}
          place={{ day: shown }}
          from={shown}
          isToday={shown === today}
        />
        <DayColumn {...columns} name={t("tasks.state.overdue")} tasks={late} />
        <DayColumn {...columns} name={t("tasks.state.undated")} tasks={undated} place="undated" />
      </div>
    </>
  );
}
