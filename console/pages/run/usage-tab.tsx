import { useMemo } from "react";
import { useTranslation } from "react-i18next";
import { visible } from "../../markdown/links.ts";
import { Empty } from "../../parts/states.tsx";
import { nodePath, usageBy, type Span, type UsageRow } from "../../run/spans.ts";
import { count, money, preciseDuration } from "../../text/time.ts";
import { work } from "../../text/inspector/work.ts";

/** Tokens and cost of a run, by node and by model. */
export function UsageTab({ spans }: { spans: ReadonlyMap<string, Span> }) {
  const { t } = useTranslation(work);
  const byNode = useMemo(() => usageBy(spans.values(), (span) => nodePath(span, spans)), [spans]);
  const byModel = useMemo(() => usageBy(spans.values(), ({ model, name }) => model ?? name), [spans]);
  if (byNode.length === 0) return <Empty title={t("run.noUsage")} />;
  return (
    <div className="usage-tab">
      <UsageTable title={t("run.perNode")} rows={byNode} />
      <UsageTable title={t("run.perModel")} rows={byModel} />
    </div>
  );
}

function UsageTable({ title, rows }: { title: string; rows: readonly UsageRow[] }) {
  const { t } = useTranslation(work);
  return (
    <div className="usage-table" role="region" aria-label={title} tabIndex={0}>
      <table>
        <caption>{title}</caption>
        <thead>
          <tr>
            <th scope="col">{t("run.name")}</th>
            <th scope="col">{t("run.calls")}</th>
            <th scope="col">{t("run.tokensIn")}</th>
            <th scope="col">{t("run.tokensOut")}</th>
            <th scope="col">{t("run.duration")}</th>
            <th scope="col">{t("run.cost")}</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.name}>
              <th scope="row">{visible(row.name)}</th>
              <td>{count(row.calls)}</td>
              <td>
                {count(row.input)}
                {row.cached > 0 && <small> ({t("run.cached", { count: row.cached })})</small>}
              </td>
              <td>{count(row.output)}</td>
              <td>{row.milliseconds === null ? "–" : preciseDuration(row.milliseconds)}</td>
              <td>{row.cost === null ? "–" : money(row.cost)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
