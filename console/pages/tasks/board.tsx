import { useTranslation } from "react-i18next";
import { byState, taskStates } from "../../run/tasks.ts";
import { manage } from "../../text/manage/words.ts";
import { TaskRows } from "./task-list.tsx";
import type { ViewProps } from "./tasks-page.tsx";

/** The tasks in columns by how they stand. */
export function Board({ tasks, today, onOpen }: ViewProps) {
  const { t } = useTranslation(manage);
  const groups = byState(tasks, today);
  return (
    <div className="task-columns" role="group" tabIndex={0} aria-label={t("tasks.view.board")}>
      {taskStates.map((state) => (
        <section key={state} aria-label={t(`tasks.state.${state}`)}>
          <h2>
            {t(`tasks.state.${state}`)} <small>{groups[state].length}</small>
          </h2>
          <TaskRows tasks={groups[state]} onOpen={onOpen} hasDays={state !== "undated" && state !== "today"} />
        </section>
      ))}
    </div>
  );
}
