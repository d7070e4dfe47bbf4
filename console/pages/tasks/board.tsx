import { useTranslation } from "react-i18next";
import { dayAfter } from "../../run/model-days.ts";
import { byState, taskStates, type TaskPlace, type TaskState } from "../../run/tasks.ts";
import { manage } from "../../text/manage/words.ts";
import { DayColumn } from "./day-column.tsx";
import type { ViewProps } from "./tasks-page.tsx";

/** The tasks in columns by how they stand. */
export function Board({ tasks, today, onOpen }: ViewProps) {
  const { t } = useTranslation(manage);
  const groups = byState(tasks, today);
  // What is planned without a day being said is planned for tomorrow; nothing can be made late.
  const places: Partial<Record<TaskState, TaskPlace>> = {
    today: { day: today },
    planned: { day: dayAfter(today, 1) },
    undated: "undated",
    done: "done",
  };
  return (
    <div className="task-columns" role="group" tabIndex={0} aria-label={t("tasks.view.board")}>
      {taskStates.map((state) => (
        <DayColumn
          key={state}
          name={t(`tasks.state.${state}`)}
          tasks={groups[state]}
          all={tasks}
          place={places[state]}
          hasDays={state !== "undated" && state !== "today"}
          onOpen={onOpen}
        />
      ))}
    </div>
  );
}
