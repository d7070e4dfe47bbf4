import Plus from "icon:plus";
import X from "icon:x";
import { useTranslation } from "react-i18next";
import { Button, IconButton } from "../../parts/button.tsx";
import { manage } from "../../text/manage/words.ts";
import { comparisons, type Comparison, type Condition } from "./conditions.ts";

const all = Object.keys(comparisons) as Comparison[]; // The keys of a constant are its own.

/** What the fields of the items have to be. */
export function ConditionRows({
  conditions,
  onConditions,
}: {
  conditions: readonly Condition[];
  onConditions: (conditions: readonly Condition[]) => void;
}) {
  const { t } = useTranslation(manage);
  const change = (at: number, changes: Partial<Condition>) =>
    onConditions(conditions.map((one, index) => (index === at ? { ...one, ...changes } : one)));
  return (
    <div className="store-conditions" role="group" aria-label={t("store.conditions")}>
      {conditions.map(({ field, comparison, value }, at) => (
        <div key={at} className="store-condition">
          <input
            className="input mono"
            aria-label={t("store.field")}
            placeholder={t("store.field")}
            value={field}
            onChange={({ target }) => change(at, { field: target.value })}
          />
          <select
            className="filter"
            aria-label={t("store.comparison")}
            value={comparison}
            onChange={({ target }) => change(at, { comparison: all.find((one) => one === target.value) ?? "is" })}
          >
            {all.map((one) => (
              <option key={one} value={one}>
                {t(`store.compare.${one}`)}
              </option>
            ))}
          </select>
          <input
            className="input mono"
            aria-label={t("store.wanted")}
            placeholder={t("store.wanted")}
            value={value}
            onChange={({ target }) => change(at, { value: target.value })}
          />
          <IconButton
            label={t("store.removeCondition")}
            onClick={() => onConditions(conditions.filter((_, index) => index !== at))}
          >
            <X size={15} />
          </IconButton>
        </div>
      ))}
      <div>
        <Button
          size="small"
          kind="quiet"
          onClick={() => onConditions([...conditions, { field: "", comparison: "is", value: "" }])}
        >
          <Plus size={14} /> {t("store.addCondition")}
        </Button>
      </div>
    </div>
  );
}
