import { useState, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { visible } from "../../../markdown/links.ts";
import { Button } from "../../../parts/button.tsx";
import { byModel, type ModelDay, type sumOf } from "../../../run/model-days.ts";
import { manage } from "../../../text/manage/words.ts";
import { calendarDay, count, preciseDuration } from "../../../text/time.ts";
import { measured } from "./measured.ts";

/** How many days are shown at first. */
const pageSize = 31;

/** The sums of each model; its name shows it alone. */
export function ModelTable({ rows, onModel }: { rows: readonly ModelDay[]; onModel: (model: string) => void }) {
  const { t } = useTranslation(manage);
  return (
    <StatisticsTable title={t("statistics.byModel")} first={[t("statistics.model")]}>
      {byModel(rows).map((row) => (
        <tr key={row.model}>
          <th scope="row">
            <button type="button" className="link" onClick={() => onModel(row.model)}>
              {visible(row.model) || t("statistics.unnamed")}
            </button>
          </th>
          <Sums row={row} />
        </tr>
      ))}
    </StatisticsTable>
  );
}

/** Each day and model, the newest day first. */
export function DayTable({ rows }: { rows: readonly ModelDay[] }) {
  const { t } = useTranslation(manage);
  const [shown, setShown] = useState(pageSize);
  const newest = rows.toReversed();
  return (
    <>
      <StatisticsTable title={t("statistics.byDay")} first={[t("statistics.day"), t("statistics.model")]}>
        {newest.slice(0, shown).map((row) => (
          <tr key={`${row.day} ${row.model}`}>
            <th scope="row">{calendarDay(row.day)}</th>
            <td>{visible(row.model) || t("statistics.unnamed")}</td>
            <Sums row={row} />
          </tr>
        ))}
      </StatisticsTable>
      {newest.length > shown && (
        <Button size="small" onClick={() => setShown(shown + pageSize)}>
          {t("statistics.more")}
        </Button>
      )}
    </>
  );
}

function StatisticsTable({ title, first, children }: { title: string; first: readonly string[]; children: ReactNode }) {
  const { t } = useTranslation(manage);
  const columns = ["requests", "failed", "tokensIn", "tokensOut", "cost", "firstWords", "duration"] as const;
  return (
    <div className="usage-table" role="region" aria-label={title} tabIndex={0}>
      <table>
        <caption>{title}</caption>
        <thead>
          <tr>
            {[...first, ...columns.map((name) => t(`statistics.${name}`))].map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}

function Sums({ row }: { row: ReturnType<typeof sumOf> }) {
  const { t } = useTranslation(manage);
  const time = (milliseconds: number | null): string => (milliseconds === null ? "–" : preciseDuration(milliseconds));
  return (
    <>
      <td>{count(row.requests)}</td>
      <td data-bad={row.failed > 0 || undefined}>{count(row.failed)}</td>
      <td>
        {count(row.input_tokens)}
        {row.cached_tokens > 0 && <small> ({t("statistics.cached", { count: row.cached_tokens })})</small>}
      </td>
      <td>{count(row.output_tokens)}</td>
      <td>{measured(row.cost, "cost")}</td>
      <td>{time(row.mean_first_token_ms)}</td>
      <td>{time(row.mean_duration_ms)}</td>
    </>
  );
}
