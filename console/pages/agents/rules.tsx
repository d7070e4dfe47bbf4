import SearchX from "icon:search-x";
import { useTranslation } from "react-i18next";
import { useRules } from "../../api/shaping/agents.ts";
import { visible } from "../../markdown/links.ts";
import { Empty, Failed, Loading } from "../../parts/states.tsx";
import { LongText } from "../../parts/values/json-view.tsx";
import { manage } from "../../text/manage/words.ts";
import { Facts } from "../facts.tsx";
import { ListEntry } from "../list-and-one.tsx";
import { OwnFile } from "./own-file.tsx";

/** All rules by where they are from, and files that cannot be read as one. */
export function RuleList({ current, onOpen }: { current: string | undefined; onOpen: (path: string) => void }) {
  const { t } = useTranslation(manage);
  const { data, error, refetch } = useRules();
  if (data === undefined) {
    return error === null ? <Loading lines={6} /> : <Failed error={error} onRetry={() => void refetch()} />;
  }
  const groups = Map.groupBy(data.rules, ({ scope }) => scope);
  return (
    <>
      {data.warnings.map(({ file, problem }) => (
        <p key={`${file} ${problem}`} className="problem">
          <code>{visible(file)}</code> {visible(problem)}
        </p>
      ))}
      {data.rules.length === 0 && (
        <>
          <p className="hint">{t("agents.noRules")}</p>
          <p className="hint">{t("agents.noRulesHint", { path: ".autocoderrules/" })}</p>
        </>
      )}
      {[...groups].map(([scope, rules]) => (
        <section key={scope} aria-label={t(`agents.scope.${scope}`)}>
          <h2 className="list-group">{t(`agents.scope.${scope}`)}</h2>
          <ul>
            {rules.map(({ path, description, holds }) => (
              <li key={path}>
                <ListEntry
                  title={visible(description === "" ? (path.split("/").at(-1) ?? path) : description)}
                  name={visible(path)}
                  isHere={path === current}
                  chip={t(`agents.chip.${holds}`)}
                  onOpen={() => onOpen(path)}
                />
              </li>
            ))}
          </ul>
        </section>
      ))}
    </>
  );
}

/** One rule: when it holds, and what it says. */
export function RuleView({ path }: { path: string }) {
  const { t } = useTranslation(manage);
  const { data, error, refetch } = useRules();
  const rule = data?.rules.find((one) => one.path === path);
  if (rule === undefined && data !== undefined) {
    return <Empty icon={<SearchX />} title={t("agents.ruleGone")} hint={t("agents.goneHint")} />;
  }
  if (rule === undefined) {
    return error === null ? <Loading lines={6} /> : <Failed error={error} onRetry={() => void refetch()} />;
  }
  const { description, scope, holds, globs, content } = rule;
  return (
    <div className="shaping-view">
      <header className="prompt-head">
        <div>
          <h2>{visible(description === "" ? (path.split("/").at(-1) ?? path) : description)}</h2>
          <OwnFile path={path} />
        </div>
      </header>
      <Facts
        title={t("models.facts")}
        rows={[
          [t("agents.holds"), t(`agents.when.${holds}`)],
          ...(globs.length === 0 ? [] : ([[t("agents.globs"), visible(globs.join("  "))]] as const)),
          [t("agents.from"), t(`agents.scope.${scope}`)],
        ]}
      />
      <section className="prompt-part" aria-label={t("agents.content")}>
        <h2>{t("agents.content")}</h2>
        <LongText text={content} label={t("agents.content")} />
      </section>
      <p className="hint">{t("agents.changeHint")}</p>
    </div>
  );
}
