import CircuitBoard from "icon:circuit-board";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useCircuits } from "../../api/shaping/circuits.ts";
import { visible } from "../../markdown/links.ts";
import { Empty, Failed, Loading } from "../../parts/states.tsx";
import { manage } from "../../text/manage/words.ts";
import { ListEntry, ListSearch } from "../list-and-one.tsx";

/** The circuits of the workspace. */
export function CircuitList({ current, onOpen }: { current: string | undefined; onOpen: (name: string) => void }) {
  const { t } = useTranslation(manage);
  const { data, error, refetch } = useCircuits();
  const [query, setQuery] = useState("");
  if (data === undefined) {
    if (error === null) return <Loading lines={6} />;
    const gone = { title: t("circuits.off"), hint: t("circuits.offHint") };
    return <Failed error={error} onRetry={() => void refetch()} gone={gone} />;
  }
  const words = query.trim().toLowerCase();
  const found = data.circuits.filter(({ name, title }) => `${name} ${title}`.toLowerCase().includes(words));
  if (data.circuits.length === 0) {
    return <Empty icon={<CircuitBoard />} title={t("circuits.empty")} hint={t("circuits.emptyHint")} />;
  }
  return (
    <>
      <ListSearch label={t("circuits.search")} query={query} onQuery={setQuery} />
      {found.length === 0 && <p className="hint">{t("circuits.none", { query: visible(query) })}</p>}
      <ul>
        {found.map(({ name, title }) => (
          <li key={name}>
            <ListEntry
              title={visible(title === "" ? name : title)}
              name={visible(name)}
              isHere={name === current}
              onOpen={() => onOpen(name)}
            />
          </li>
        ))}
      </ul>
      {data.more && <p className="hint">{t("circuits.more")}</p>}
    </>
  );
}
