import ChartColumn from "icon:chart-column";
import { useMemo } from "react";
import { useTranslation } from "react-i18next";
import { useSearchParams } from "wouter";
import { withParams } from "../../../app/addresses.ts";
import { usePageTitle } from "../../../app/news.ts";
import { useModelDays } from "../../../api/shaping/statistics.ts";
import { visible } from "../../../markdown/links.ts";
import { Empty, Failed, Loading } from "../../../parts/states.tsx";
import { useToday } from "../../../parts/values/today.ts";
import { dayOf, daysOf, measures, readChosenDays, sumOf, valueOf, type Measure } from "../../../run/model-days.ts";
import { manage } from "../../../text/manage/words.ts";
import { calendarDay } from "../../../text/time.ts";
import { BarChart } from "../../bar-chart.tsx";
import { Choices } from "./choices.tsx";
import { measured } from "./measured.ts";
import { DayTable, ModelTable } from "./tables.tsx";

/** What the calls of models took, by model and day. What is chosen stands in the address. */
export function StatisticsView() {
  const { t } = useTranslation(manage);
  const [params, setParams] = useSearchParams();
  const today = useToday(dayOf);
  const chosen = useMemo(() => readChosenDays(params, today), [params, today]);
  const { data, error, refetch } = useModelDays(chosen);
  usePageTitle(t("statistics.title"));
  const change = (changes: Record<string, string | undefined>): void => {
    setParams((before) => withParams(before, changes));
  };
  const rows = useMemo(
    () => (data ?? []).filter(({ model }) => chosen.model === undefined || model === chosen.model),
    [data, chosen.model],
  );
  return (
    <div className="shaping-view statistics">
      <Choices chosen={chosen} today={today} models={[...new Set(data?.map(({ model }) => model))]} onChange={change} />
      {data === undefined && error === null && <Loading lines={8} />}
      {data === undefined && error !== null && <Failed error={error} onRetry={() => void refetch()} />}
      {data !== undefined && rows.length === 0 && (
        <Empty
          icon={<ChartColumn />}
          title={t("statistics.empty")}
          hint={
            chosen.model === undefined
              ? t("statistics.emptyHint")
              : t("statistics.emptyOf", { name: visible(chosen.model) })
          }
        />
      )}
      {rows.length > 0 && (
        <>
          <Tiles sums={sumOf(rows)} current={chosen.measure} onChoose={(show) => change({ show })} />
          <BarChart
            label={t("statistics.chart", { measure: t(`statistics.${chosen.measure}`) })}
            summary={t("statistics.chart", { measure: t(`statistics.${chosen.measure}`) })}
            bars={daysOf(rows, chosen).map(({ day, value }) => ({
              key: day,
              label: t("statistics.bar", { day: calendarDay(day), value: measured(value, chosen.measure) }),
              value,
              isBad: chosen.measure === "failed",
            }))}
            ends={[calendarDay(chosen.from), calendarDay(chosen.to)]}
          />
          <ModelTable rows={rows} onModel={(model) => change({ model })} />
          <DayTable rows={rows} />
          <p className="hint">{t("statistics.hint")}</p>
        </>
      )}
    </div>
  );
}

/** The sums; the one that is pressed is what the chart shows. */
function Tiles({
  sums,
  current,
  onChoose,
}: {
  sums: ReturnType<typeof sumOf>;
  current: Measure;
  onChoose: (measure: Measure) => void;
}) {
  const { t } = useTranslation(manage);
  return (
    <div className="tiles" role="group" aria-label={t("statistics.measures")}>
      {measures.map((measure) => (
        <button
          key={measure}
          type="button"
          className="tile"
          aria-pressed={measure === current}
          onClick={() => onChoose(measure)}
        >
          <span>{t(`statistics.${measure}`)}</span>
          <b>{measured(valueOf(sums, measure), measure)}</b>
        </button>
      ))}
    </div>
  );
}
