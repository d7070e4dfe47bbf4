import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useIdentities, usePrompts, type PromptPlace } from "../../api/shaping/prompts.ts";
import { visible } from "../../markdown/links.ts";
import { Failed, Loading } from "../../parts/states.tsx";
import { manage } from "../../text/manage/words.ts";
import { ListEntry, ListSearch } from "../list-and-one.tsx";

/** A title in the reader's language. */
export function titleOf(title: { readonly en: string; readonly zh: string }, language: string): string {
  return language === "zh" ? title.zh : title.en;
}

interface Entry {
  name: string;
  title: string;
  isChanged: boolean;
}

/** The texts of a kind, in groups; what is changed or not saved is marked. */
export function PromptList({
  kind,
  current,
  isUnsaved,
  onOpen,
}: {
  kind: PromptPlace["kind"];
  current: string | undefined;
  isUnsaved: (name: string) => boolean;
  onOpen: (name: string) => void;
}) {
  const { t } = useTranslation(manage);
  const [query, setQuery] = useState("");
  const { groups, isPending, error, refetch } = useGroups(kind);
  const words = query.trim().toLowerCase();
  const fits = ({ name, title }: Entry) => title.toLowerCase().includes(words) || name.includes(words);
  const shown = groups
    .map(({ title, entries }) => ({ title, entries: entries.filter(fits) }))
    .filter(({ entries }) => entries.length > 0);
  return (
    <>
      <ListSearch label={t("prompts.search")} query={query} onQuery={setQuery} />
      {isPending && <Loading lines={8} />}
      {error !== null && groups.length === 0 && <Failed error={error} onRetry={refetch} />}
      {groups.length > 0 && shown.length === 0 && (
        <p className="hint">{t("prompts.none", { query: visible(query) })}</p>
      )}
      {shown.map(({ title, entries }) => (
        <section key={title} aria-label={title === "" ? t("prompts.identities") : title}>
          {title !== "" && <h2 className="list-group">{title}</h2>}
          <ul>
            {entries.map((entry) => (
              <li key={entry.name}>
                <ListEntry
                  title={visible(entry.title)}
                  name={visible(entry.name)}
                  isHere={entry.name === current}
                  chip={
                    isUnsaved(entry.name)
                      ? `* ${t("prompts.unsaved")}`
                      : entry.isChanged
                        ? t("prompts.custom")
                        : undefined
                  }
                  onOpen={() => onOpen(entry.name)}
                />
              </li>
            ))}
          </ul>
        </section>
      ))}
    </>
  );
}

/** The texts of a kind by what they are for. */
function useGroups(kind: PromptPlace["kind"]) {
  const { t, i18n } = useTranslation(manage);
  const prompts = usePrompts();
  const identities = useIdentities();
  const { isPending, error, refetch } = kind === "prompt" ? prompts : identities;
  const state = { isPending, error, refetch: () => void refetch() };
  const entry = (name: string, title: { en: string; zh: string }, source: string): Entry => ({
    name,
    title: titleOf(title, i18n.language),
    isChanged: source !== "builtin",
  });
  if (kind === "identity") {
    const entries = (identities.data ?? []).map(({ profile, title, source }) => entry(profile, title, source));
    return { ...state, groups: entries.length === 0 ? [] : [{ title: "", entries }] };
  }
  // An identity is edited as such.
  const own = (prompts.data ?? []).filter(({ name }) => name !== "identity" && !name.startsWith("identity_"));
  const byStep = Map.groupBy(own, ({ nodes }) => nodes.length > 0);
  const groups = [true, false].map((isOfStep) => ({
    title: t(isOfStep ? "prompts.ofSteps" : "prompts.others"),
    entries: (byStep.get(isOfStep) ?? []).map(({ name, title, source }) => entry(name, title, source)),
  }));
  return { ...state, groups: groups.filter(({ entries }) => entries.length > 0) };
}
