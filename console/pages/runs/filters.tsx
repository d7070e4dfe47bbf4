import X from "icon:x";
import { useTranslation } from "react-i18next";
import { useAssistants } from "../../api/threads.ts";
import { Button } from "../../parts/button.tsx";
import { shortMoment } from "../../text/time.ts";
import { work } from "../../text/inspector/work.ts";
import { rangeNames, runStatuses, type Chosen } from "../../run/run-filter.ts";

/** Which runs are shown; every choice stands in the address. */
export function Filters({
  chosen,
  onChange,
}: {
  chosen: Chosen;
  onChange: (changes: Record<string, string | undefined>) => void;
}) {
  const { t } = useTranslation(work);
  const assistants = useAssistants().data ?? [];
  const graphs = [...new Set(assistants.map(({ graph_id }) => graph_id))].toSorted();
  const { status, graph, thread, range, span } = chosen;
  const isFiltered = status !== undefined || graph !== undefined || thread !== undefined || span !== undefined;
  return (
    <div className="filters" role="group" aria-label={t("runs.filters")}>
      <select
        className="filter"
        aria-label={t("runs.state")}
        value={status ?? ""}
        data-set={status !== undefined || undefined}
        onChange={({ target }) => onChange({ state: target.value || undefined })}
      >
        <option value="">{t("runs.anyState")}</option>
        {runStatuses.map((one) => (
          <option key={one} value={one}>
            {t(`status.${one}`)}
          </option>
        ))}
      </select>
      <select
        className="filter"
        aria-label={t("runs.graph")}
        value={graph ?? ""}
        data-set={graph !== undefined || undefined}
        onChange={({ target }) => onChange({ graph: target.value || undefined })}
      >
        <option value="">{t("runs.anyGraph")}</option>
        {[...new Set([...graphs, ...(graph === undefined ? [] : [graph])])].map((one) => (
          <option key={one} value={one}>
            {one}
          </option>
        ))}
      </select>
      <select
        className="filter"
        aria-label={t("runs.time")}
        value={span === undefined ? range : "span"}
        data-set={range !== "any" || span !== undefined || undefined}
        onChange={({ target }) => onChange({ time: target.value, from: undefined, to: undefined })}
      >
        {rangeNames.map((one) => (
          <option key={one} value={one}>
            {t(one === "any" ? "runs.anyTime" : `runs.${one}`)}
          </option>
        ))}
        {span !== undefined && (
          <option value="span">{t("runs.between", { from: shortMoment(span.from), to: shortMoment(span.to) })}</option>
        )}
      </select>
      {thread !== undefined && (
        <button
          type="button"
          className="filter"
          data-set
          aria-label={t("runs.remove", { name: t("runs.filterThread") })}
          onClick={() => onChange({ thread: undefined })}
        >
          {t("runs.filterThread")}
          <X size={14} />
        </button>
      )}
      {(isFiltered || range !== "any") && (
        <Button
          size="small"
          kind="quiet"
          onClick={() =>
            onChange({
              state: undefined,
              graph: undefined,
              thread: undefined,
              time: undefined,
              from: undefined,
              to: undefined,
            })
          }
        >
          {t("runs.clear")}
        </Button>
      )}
    </div>
  );
}
