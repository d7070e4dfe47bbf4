import Download from "icon:download";
import { useTranslation } from "react-i18next";
import { saveModelDays } from "../../../api/shaping/statistics.ts";
import { visible } from "../../../markdown/links.ts";
import { Button } from "../../../parts/button.tsx";
import { notifyError } from "../../../parts/toast.tsx";
import { dayCounts, type ChosenDays } from "../../../run/model-days.ts";
import { manage } from "../../../text/manage/words.ts";

/** Which days and which model are shown, and the same as a file. */
export function Choices({
  chosen: { from, to, count, model },
  models,
  today,
  onChange,
}: {
  chosen: ChosenDays;
  today: string;
  models: readonly string[];
  onChange: (changes: Record<string, string | undefined>) => void;
}) {
  const { t } = useTranslation(manage);
  const names = [...new Set([...models, ...(model === undefined ? [] : [model])])].toSorted();
  const span = (changes: { from?: string; to?: string }): void => {
    const next = { from, to, ...changes };
    if (next.from === "" || next.to === "") return;
    const [first, last] = next.from <= next.to ? [next.from, next.to] : [next.to, next.from];
    onChange({ from: first, to: last, days: undefined });
  };
  return (
    <div className="filters" role="group" aria-label={t("statistics.choices")}>
      <select
        className="filter"
        aria-label={t("statistics.days")}
        value={count ?? "span"}
        data-set
        onChange={({ target }) => onChange({ days: target.value, from: undefined, to: undefined })}
      >
        {dayCounts.map((one) => (
          <option key={one} value={one}>
            {t("statistics.lastDays", { count: one })}
          </option>
        ))}
        {count === undefined && <option value="span">{t("statistics.span")}</option>}
      </select>
      <input
        className="filter"
        type="date"
        aria-label={t("statistics.from")}
        value={from}
        max={to}
        onChange={({ target }) => span({ from: target.value })}
      />
      <input
        className="filter"
        type="date"
        aria-label={t("statistics.to")}
        value={to}
        min={from}
        max={today}
        onChange={({ target }) => span({ to: target.value })}
      />
      <select
        className="filter"
        aria-label={t("statistics.model")}
        value={model ?? ""}
        data-set={model !== undefined || undefined}
        onChange={({ target }) => onChange({ model: target.value || undefined })}
      >
        <option value="">{t("statistics.allModels")}</option>
        {names.map((name) => (
          <option key={name} value={name}>
            {visible(name) || t("statistics.unnamed")}
          </option>
        ))}
      </select>
      <Button size="small" onClick={() => void saveModelDays({ from, to }).catch(notifyError)}>
        <Download size={15} /> {t("statistics.save")}
      </Button>
    </div>
  );
}
