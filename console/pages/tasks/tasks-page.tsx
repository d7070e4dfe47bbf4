import ListChecks from "icon:list-checks";
import { useMemo } from "react";
import { useTranslation } from "react-i18next";
import { useSearchParams } from "wouter";
import { withParams } from "../../app/addresses.ts";
import { useAreas, useTasks } from "../../api/shaping/tasks.ts";
import { usePageTitle } from "../../app/news.ts";
import { Empty, Failed, Loading } from "../../parts/states.tsx";
import { useToday } from "../../parts/values/today.ts";
import { localDay, taskViews, type Task, type TaskView } from "../../run/tasks.ts";
import { manage } from "../../text/manage/words.ts";
import { AddTask } from "./add-task.tsx";
import { areaName } from "./area-name.ts";
import { Board } from "./board.tsx";
import { Day } from "./day.tsx";
import { TaskDialog } from "./task-dialog.tsx";
import { TaskList } from "./task-list.tsx";
import { TaskNumbers } from "./task-numbers.tsx";
import { Week } from "./week.tsx";
import "../../style/later.css";

/** What a view of the tasks needs. */
export interface ViewProps {
  tasks: readonly Task[];
  today: string;
  onOpen: (id: string) => void;
}

/** The value that stands for tasks without an area, in the address and in the choice. */
const withoutArea = "none";

/** The tasks of the planner as a list, a day, a week, a board or numbers; what is chosen stands in the address. */
export function TasksPage() {
  const { t } = useTranslation(manage);
  const [params, setParams] = useSearchParams();
  const today = useToday(localDay);
  usePageTitle(t("tasks.title"));
  const view = taskViews.find((one) => one === params.get("view")) ?? "list";
  const area = params.get("area") ?? undefined;
  const opened = params.get("task") ?? undefined;
  const { data, error, refetch } = useTasks(area === withoutArea ? null : area);
  const change = (changes: Record<string, string | undefined>): void => {
    setParams((before) => withParams(before, changes));
  };
  const onOpen = (id: string) => change({ task: id });
  const tasks = useMemo(() => data ?? [], [data]);
  return (
    <div className="shaping tasks">
      <header className="page-head">
        <h1>{t("tasks.title")}</h1>
        <div className="segments" role="group" aria-label={t("tasks.views")}>
          {taskViews.map((one) => (
            <button key={one} type="button" aria-pressed={one === view} onClick={() => change({ view: one })}>
              {t(`tasks.view.${one}`)}
            </button>
          ))}
        </div>
        <AreaChoice area={area} today={today} onChoose={(one) => change({ area: one })} />
      </header>
      <div className="shaping-view statistics">
        {data !== undefined && <AddTask area={area === withoutArea ? undefined : area} today={today} />}
        {data === undefined && error === null && <Loading lines={8} />}
        {data === undefined && error !== null && (
          <Failed
            error={error}
            onRetry={() => void refetch()}
            gone={{ title: t("tasks.noPlanner"), hint: t("tasks.noPlannerHint") }}
          />
        )}
        {data?.length === 0 && (
          <Empty
            icon={<ListChecks />}
            title={t("tasks.empty")}
            hint={t(area === undefined ? "tasks.emptyHint" : "tasks.emptyArea")}
          />
        )}
        {tasks.length > 0 && <View view={view} tasks={tasks} today={today} onOpen={onOpen} />}
      </div>
      {opened !== undefined && (
        <TaskDialog key={opened} id={opened} today={today} onClose={() => change({ task: undefined })} />
      )}
    </div>
  );
}

function View({ view, ...props }: ViewProps & { view: TaskView }) {
  switch (view) {
    case "list":
      return <TaskList {...props} />;
    case "day":
      return <Day {...props} />;
    case "week":
      return <Week {...props} />;
    case "board":
      return <Board {...props} />;
    case "numbers":
      return <TaskNumbers {...props} />;
  }
}

function AreaChoice({
  area,
  today,
  onChoose,
}: {
  area: string | undefined;
  today: string;
  onChoose: (area: string | undefined) => void;
}) {
  const { t } = useTranslation(manage);
  const areas = useAreas(today).data ?? [];
  const names = areas.map(({ area_id }) => area_id ?? withoutArea);
  const nameOf = (one: string): string => (one === withoutArea ? t("tasks.noArea") : areaName(t, one));
  return (
    <select
      className="filter"
      aria-label={t("tasks.area")}
      value={area ?? ""}
      data-set={area !== undefined || undefined}
      onChange={({ target }) => onChoose(target.value || undefined)}
    >
      <option value="">{t("tasks.allAreas")}</option>
      {[...new Set([...names, ...(area === undefined ? [] : [area])])].map((one) => (
        <option key={one} value={one}>
          {nameOf(one)}
        </option>
      ))}
    </select>
  );
}
