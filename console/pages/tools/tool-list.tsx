import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useToolkits, useTools, type Tool } from "../../api/tools.ts";
import { visible } from "../../markdown/links.ts";
import { Failed, Loading } from "../../parts/states.tsx";
import { manage } from "../../text/manage/words.ts";
import { ListEntry, ListSearch } from "../list-and-one.tsx";

/** All tools by their toolkits; what asks a person is marked, and so is a toolkit that is off. */
export function ToolList({ current, onOpen }: { current: string | undefined; onOpen: (name: string) => void }) {
  const { t, i18n } = useTranslation(manage);
  const { data, error, isPending, refetch } = useTools();
  const toolkits = useToolkits(i18n.language).data ?? [];
  const [query, setQuery] = useState("");
  const words = query.trim().toLowerCase();
  const found = (data ?? []).filter(
    ({ name, description }) => name.toLowerCase().includes(words) || description.toLowerCase().includes(words),
  );
  const groups = Map.groupBy(found, ({ toolkit }) => toolkit ?? "");
  const chipOf = (tool: Tool): string | undefined => {
    const asks = asksOf(tool);
    return asks === "never" ? undefined : t(`tools.chip.${asks}`);
  };
  // What a toolkit of this server has and is not among the tools is not for the owner of this key.
  const listed = new Set(data?.map(({ name }) => name));
  const blocked = toolkits
    .flatMap(({ is_enabled, tools }) => (is_enabled ? tools : []))
    .filter((name) => !listed.has(name) && name.includes(words));
  const off = words === "" ? toolkits.filter(({ is_enabled }) => !is_enabled) : [];
  return (
    <>
      <ListSearch label={t("tools.search")} query={query} onQuery={setQuery} />
      {isPending && <Loading lines={8} />}
      {error !== null && data === undefined && <Failed error={error} onRetry={() => void refetch()} />}
      {data !== undefined && found.length + blocked.length === 0 && (
        <p className="hint">{t("tools.none", { query: visible(query) })}</p>
      )}
      {[...groups].map(([toolkit, tools]) => {
        const known = toolkits.find(({ name }) => name === toolkit);
        const title = toolkit === "" ? t("tools.external") : visible(known?.title ?? toolkit);
        return (
          <section key={toolkit} aria-label={title}>
            <h2 className="list-group">{title}</h2>
            <ul>
              {tools.map((tool) => (
                <li key={tool.name}>
                  <ListEntry
                    title={visible(tool.name)}
                    isHere={tool.name === current}
                    chip={chipOf(tool)}
                    onOpen={() => onOpen(tool.name)}
                  />
                </li>
              ))}
            </ul>
          </section>
        );
      })}
      {data !== undefined && blocked.length > 0 && (
        <section aria-label={t("tools.blocked")}>
          <h2 className="list-group">{t("tools.blocked")}</h2>
          <ul>
            {blocked.map((name) => (
              <li key={name}>
                <ListEntry title={visible(name)} isHere={name === current} onOpen={() => onOpen(name)} />
              </li>
            ))}
          </ul>
          <p className="hint">{t("tools.blockedHint")}</p>
        </section>
      )}
      {data !== undefined && off.length > 0 && (
        <section aria-label={t("tools.off")}>
          <h2 className="list-group">{t("tools.off")}</h2>
          <p className="hint">{off.map(({ title }) => visible(title)).join(" · ")}</p>
          <p className="hint">{t("tools.offHint")}</p>
        </section>
      )}
    </>
  );
}

/** Whether a tool always asks a person, sometimes, never, or says so only when it is called. */
function asksOf({ confirmation }: Tool): "always" | "sometimes" | "never" | "unknown" {
  if (confirmation === null) return "unknown";
  const asking = confirmation.filter(({ asks }) => asks !== "never");
  if (asking.length === 0) return "never";
  return asking.length === confirmation.length && asking.every(({ asks }) => asks === "always")
    ? "always"
    : "sometimes";
}
