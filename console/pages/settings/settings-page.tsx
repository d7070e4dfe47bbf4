import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useSettings } from "../../api/shaping/settings.ts";
import { useCaller } from "../../api/threads.ts";
import { webSearchAddress } from "../../app/addresses.ts";
import { usePageTitle } from "../../app/news.ts";
import { visible } from "../../markdown/links.ts";
import { Failed, Loading } from "../../parts/states.tsx";
import { manage } from "../../text/manage/words.ts";
import { ListSearch, Segments } from "../list-and-one.tsx";
import { ServerView } from "./server-view.tsx";
import { SettingRow } from "./setting-row.tsx";
import { WebSearchView } from "./web-search.tsx";
import "../../style/later.css";

const filters = ["all", "changed", "given", "live"] as const;

/** The settings of the server with where each comes from, and how the server is. */
export function SettingsPage({ part }: { part: "settings" | "server" | "search" }) {
  const { t } = useTranslation(manage);
  usePageTitle(t("settings.title"));
  const searches = useCaller().data?.features?.["web"] === true;
  return (
    <div className="shaping" data-open>
      <header className="page-head">
        <h1>{t("settings.title")}</h1>
        <Segments
          label={t("settings.parts")}
          segments={[
            { label: t("settings.all"), address: "/settings", isHere: part === "settings" },
            ...(searches
              ? [{ label: t("webSearch.title"), address: webSearchAddress, isHere: part === "search" }]
              : []),
            { label: t("settings.server"), address: "/server", isHere: part === "server" },
          ]}
        />
      </header>
      <div className="shaping-one">
        {part === "server" ? <ServerView /> : part === "search" ? <WebSearchView /> : <SettingList />}
      </div>
    </div>
  );
}

function SettingList() {
  const { t } = useTranslation(manage);
  const { data, error, refetch } = useSettings();
  const [query, setQuery] = useState("");
  const [filter, setFilter] = useState<(typeof filters)[number]>("all");
  if (data === undefined) {
    return error === null ? <Loading lines={10} /> : <Failed error={error} onRetry={() => void refetch()} />;
  }
  const words = query.trim().toLowerCase();
  const shown = data.filter(({ name, source, change }) => {
    if (!name.toLowerCase().includes(words)) return false;
    if (filter === "changed") return source === "changed";
    if (filter === "given") return source !== "default";
    return filter === "all" || change !== null;
  });
  return (
    <div className="shaping-view">
      <div className="filters">
        <ListSearch label={t("settings.search")} query={query} onQuery={setQuery} className="settings-search" />
        <select
          className="filter"
          aria-label={t("settings.filter")}
          value={filter}
          data-set={filter !== "all" || undefined}
          onChange={({ target }) => setFilter(filters.find((one) => one === target.value) ?? "all")}
        >
          {filters.map((one) => (
            <option key={one} value={one}>
              {t(`settings.filters.${one}`)}
            </option>
          ))}
        </select>
      </div>
      <p className="hint">{t("settings.restart")}</p>
      {shown.length === 0 && <p className="hint">{t("settings.none", { query: visible(query) })}</p>}
      <ul className="settings">
        {shown.map((setting) => (
          <SettingRow key={setting.name} setting={setting} />
        ))}
      </ul>
    </div>
  );
}
