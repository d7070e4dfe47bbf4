import SearchX from "icon:search-x";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useLocation } from "wouter";
import { useOwnFile, useRules, type Rule } from "../../api/shaping/agents.ts";
import { useCaller } from "../../api/threads.ts";
import { ruleAddress } from "../../app/addresses.ts";
import { visible } from "../../markdown/links.ts";
import { Button } from "../../parts/button.tsx";
import { Empty, Failed, Loading } from "../../parts/states.tsx";
import { LongText } from "../../parts/values/json-view.tsx";
import { manage } from "../../text/manage/words.ts";
import { useTextDraft, type TextDraft } from "../draft-editor.tsx";
import { Facts } from "../facts.tsx";
import { ListEntry } from "../list-and-one.tsx";
import { PlaceLink } from "../place-link.tsx";
import { OwnFile } from "./own-file.tsx";
import { DeleteOwnFile, OwnFileEditor, TouchedTools } from "./own-file-editor.tsx";

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
          <PlaceLink address={ruleAddress(file)}>{visible(file)}</PlaceLink> {visible(problem)}
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

/** One rule: when it holds, and what it says, to be changed by those who may. */
export function RuleView({ path }: { path: string }) {
  const { t } = useTranslation(manage);
  const { data, error, refetch } = useRules();
  const mayChange = useCaller().data?.may_administer === true;
  const [draft, setDraft] = useTextDraft(`rules ${path}`);
  const [isChosen, setChosen] = useState(false);
  if (data === undefined) {
    return error === null ? <Loading lines={6} /> : <Failed error={error} onRetry={() => void refetch()} />;
  }
  const rule = data.rules.find((one) => one.path === path);
  const problems = data.warnings.filter(({ file }) => file === path);
  const isThere = rule !== undefined || problems.length > 0;
  const isEdited = mayChange && (draft !== undefined || isChosen);
  if (!isThere && !isEdited) {
    return <Empty icon={<SearchX />} title={t("agents.ruleGone")} hint={t("agents.goneHint")} />;
  }
  return (
    <div className="shaping-view">
      <RuleHead
        path={path}
        rule={rule}
        isThere={isThere}
        mayChange={mayChange}
        onEdit={isEdited ? undefined : () => setChosen(true)}
      />
      {!isEdited &&
        problems.map(({ problem }) => (
          <p key={problem} className="problem">
            {visible(problem)}
          </p>
        ))}
      {rule !== undefined && <RuleFacts rule={rule} />}
      {isEdited ? (
        <RuleEditor
          path={path}
          draft={draft}
          onDraft={setDraft}
          onClose={isChosen ? () => setChosen(false) : undefined}
        />
      ) : (
        rule !== undefined && (
          <section className="prompt-part" aria-label={t("agents.content")}>
            <h2>{t("agents.content")}</h2>
            <LongText text={rule.content} label={t("agents.content")} />
          </section>
        )
      )}
      <p className="hint">{t("agents.changeHint")}</p>
    </div>
  );
}

function RuleEditor({
  path,
  ...editing
}: {
  path: string;
  draft: TextDraft | undefined;
  onDraft: (draft: TextDraft | undefined) => void;
  onClose: (() => void) | undefined;
}) {
  const [, navigate] = useLocation();
  return <OwnFileEditor kind="rules" name={path} onSaved={(saved) => navigate(ruleAddress(saved))} {...editing} />;
}

function RuleHead({
  path,
  rule,
  isThere,
  mayChange,
  onEdit,
}: {
  path: string;
  rule: Rule | undefined;
  isThere: boolean;
  mayChange: boolean;
  onEdit: (() => void) | undefined;
}) {
  const { t } = useTranslation(manage);
  const [, navigate] = useLocation();
  const name = path.split("/").at(-1) ?? path;
  return (
    <header className="prompt-head">
      <div>
        <h2>{visible(rule === undefined || rule.description === "" ? name : rule.description)}</h2>
        {isThere && <OwnFile path={path} />}
      </div>
      {mayChange && (
        <div className="filters">
          {isThere && <DeleteOwnFile kind="rules" name={path} onGone={() => navigate(ruleAddress())} />}
          {onEdit !== undefined && (
            <Button size="small" onClick={onEdit}>
              {t("edit.edit")}
            </Button>
          )}
        </div>
      )}
    </header>
  );
}

function RuleFacts({ rule: { path, scope, holds, globs } }: { rule: Rule }) {
  const { t } = useTranslation(manage);
  const { data } = useOwnFile("rules", path, true);
  return (
    <>
      <Facts
        title={t("models.facts")}
        rows={[
          [t("agents.holds"), t(`agents.when.${holds}`)],
          ...(globs.length === 0 ? [] : ([[t("agents.globs"), visible(globs.join("  "))]] as const)),
          [t("agents.from"), t(`agents.scope.${scope}`)],
        ]}
      />
      {data !== undefined && <TouchedTools kind="rules" tools={data.tools} />}
    </>
  );
}
