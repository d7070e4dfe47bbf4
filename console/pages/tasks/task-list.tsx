import { useState } from "react";
import { useTranslation } from "react-i18next";
import { Button } from "../../parts/button.tsx";
import { byState, taskStates, type Task } from "../../run/tasks.ts";
import { manage } from "../../text/manage/words.ts";
import { TaskRow } from "./task-row.tsx";
import type { ViewProps } from "./tasks-page.tsx";

/** Tasks of a group that are drawn at first. */
const pageSize = 100;

/** All tasks by how they stand, what is late first. */
export function TaskList({ tasks, today, onOpen }: ViewProps) {
  const { t } = useTranslation(manage);
  const groups = byState(tasks, today);
  return taskStates.map(
    (state) =>
      groups[state].length > 0 && (
        <section key={state} className="prompt-part" aria-label={t(`tasks.state.${state}`)}>
          <h2>
            {t(`tasks.state.${state}`)} <small>{groups[state].length}</small>
          </h2>
          <TaskRows tasks={groups[state]} onOpen={onOpen} />
        </section>
      ),
  );
}

/** Tasks below one another; of many the first ones, and the others on request. */
export function TaskRows({
  tasks,
  ...rest
}: {
  tasks: readonly Task[];
  onOpen: (id: string) => void;
  hasDays?: boolean;
  /** The day that they stand at. */
  from?: string | undefined;
}) {
  const { t } = useTranslation(manage);
  const [shown, setShown] = useState(pageSize);
  return (
    <>
      <ul>
        {tasks.slice(0, shown).map((task) => (
          <li key={task.id}>
            <TaskRow task={task} {...rest} />
          </li>
        ))}
      </ul>
      {tasks.length > shown && (
        <Button size="small" onClick={() => setShown(shown + pageSize)}>
          {t("tasks.more", { count: tasks.length - shown })}
        </Button>
      )}
    </>
  );
}
