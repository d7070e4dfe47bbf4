import { useState } from "react";
import { useTranslation } from "react-i18next";
import { roleNames, useKnownModels, useProviders, type Model } from "../../api/shaping/models.ts";
import { visible } from "../../markdown/links.ts";
import { Failed, Loading } from "../../parts/states.tsx";
import { manage } from "../../text/manage/words.ts";
import { ListEntry, ListSearch } from "../list-and-one.tsx";

/** All known models by their vendors: at first those that can be used. */
export function ModelList({ current, onOpen }: { current: string | undefined; onOpen: (name: string) => void }) {
  const { t } = useTranslation(manage);
  const { data, error, isPending, refetch } = useKnownModels();
  const vendors = useProviders().data ?? [];
  const [query, setQuery] = useState("");
  const [isAll, setAll] = useState(false);
  const words = query.trim().toLowerCase();
  const found = (data?.models ?? []).filter(
    ({ name, profile }) => name.toLowerCase().includes(words) || profile.display_name.toLowerCase().includes(words),
  );
  const usable = found.filter(({ name, has_what_it_needs }) => has_what_it_needs || name === current);
  const shown = isAll || usable.length === 0 ? found : usable;
  const groups = Map.groupBy(shown, ({ provider }) => provider);
  const chipOf = ({ roles, has_what_it_needs }: Model): string | undefined => {
    const role = roleNames.find((one) => roles.includes(one));
    if (role !== undefined) return t(`models.role.${role}`);
    return has_what_it_needs ? undefined : t("models.noKey");
  };
  return (
    <>
      <ListSearch label={t("models.search")} query={query} onQuery={setQuery} />
      {isPending && <Loading lines={8} />}
      {error !== null && data === undefined && <Failed error={error} onRetry={() => void refetch()} />}
      {data?.problem && <p className="problem">{t("models.fileProblem", { problem: visible(data.problem) })}</p>}
      {data !== undefined && (
        <label className="check shaping-check">
          <input type="checkbox" checked={isAll} onChange={({ target }) => setAll(target.checked)} />
          <span>{t("models.showAll")}</span>
        </label>
      )}
      {data !== undefined && shown.length === 0 && (
        <p className="hint">{t("models.none", { query: visible(query) })}</p>
      )}
      {[...groups].map(([vendor, models]) => {
        const title = visible(vendors.find(({ name }) => name === vendor)?.title ?? vendor);
        return (
          <section key={vendor} aria-label={title}>
            <h2 className="list-group">{title}</h2>
            <ul>
              {models.map((model) => (
                <li key={model.name}>
                  <ListEntry
                    title={visible(model.profile.display_name)}
                    name={visible(model.name)}
                    isHere={model.name === current}
                    chip={chipOf(model)}
                    onOpen={() => onOpen(model.name)}
                  />
                </li>
              ))}
            </ul>
          </section>
        );
      })}
    </>
  );
}
