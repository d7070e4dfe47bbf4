import type { ReactNode } from "react";
import type { Task, TaskPlace } from "../../run/tasks.ts";
import { useDrop } from "./moving.tsx";
import { TaskRows } from "./task-list.tsx";

/** Tasks under one head, where others can be dropped. */
export function DayColumn({
  name,
  head = name,
  tasks,
  all,
  place,
  from,
  isToday = false,
  hasDays = from === undefined,
  onOpen,
}: {
  name: string;
  head?: ReactNode;
  tasks: readonly Task[];
  /** All tasks that can be dropped. */
  all: readonly Task[];
  /** Where a task is that is dropped; without one it takes none. */
  place?: TaskPlace | undefined;
  /** The day that they stand at here. */
  from?: string | undefined;
  isToday?: boolean;
  hasDays?: boolean;
  onOpen: (id: string) => void;
}) {
  const drop = useDrop(all, place);
  return (
    <section aria-label={name} data-today={isToday || undefined} {...drop}>
      <h2>
        {head} {head === name && <small>{tasks.length}</small>}
      </h2>
      <TaskRows tasks={tasks} onOpen={onOpen} hasDays={hasDays} from={from} />
    </section>
  );
}
