import { useTranslation } from "react-i18next";
import { byState, plannedFrom, taskStates } from "../../run/tasks.ts";
import { manage } from "../../text/manage/words.ts";
import { calendarDay, count } from "../../text/time.ts";
import { useAreas } from "../../api/shaping/tasks.ts";
import { dayAfter } from "../../run/model-days.ts";
import { BarChart } from "../bar-chart.tsx";
import { areaName } from "./area-name.ts";
import type { ViewProps } from "./tasks-page.tsx";

/** Days that are shown: some of what was, and more of what comes. */
const [before, shown] = [7, 28];

/** How many tasks stand how, how many are planned for each day, and how the areas do. */
export function TaskNumbers({ tasks, today }: ViewProps) {
  const { t } = useTranslation(manage);
  const groups = byState(tasks, today);
  const first = dayAfter(today, -before);
  const areas = useAreas(today).data ?? [];
  return (
    <>
      <dl className="tiles">
        {taskStates.map((state) => (
          <div key={state} className="tile">
            <dt>{t(`tasks.state.${state}`)}</dt>
            <dd>
              <b>{count(groups[state].length)}</b>
            </dd>
          </div>
        ))}
      </dl>
      <BarChart
        label={t("tasks.chart")}
        summary={t("tasks.chart")}
        bars={plannedFrom(tasks, first, shown).map(({ day, value }) => ({
          key: day,
          label: t("tasks.bar", { day: calendarDay(day), count: value }),
          value,
        }))}
        ends={[calendarDay(first), calendarDay(dayAfter(first, shown - 1))]}
      />
      <div className="usage-table" role="region" aria-label={t("tasks.byArea")} tabIndex={0}>
        <table>
          <caption>{t("tasks.byArea")}</caption>
          <thead>
            <tr>
              {[t("tasks.area"), t("tasks.open"), t("tasks.state.overdue"), t("tasks.state.done")].map((name) => (
                <th key={name} scope="col">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {areas.map(({ area_id, open, overdue, completed }) => (
              <tr key={area_id}>
                <th scope="row">{area_id === null ? t("tasks.noArea") : areaName(t, area_id)}</th>
                <td>{count(open)}</td>
                <td data-bad={overdue > 0 || undefined}>{count(overdue)}</td>
                <td>{count(completed)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}
