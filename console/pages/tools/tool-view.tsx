import SearchX from "icon:search-x";
import { useTranslation } from "react-i18next";
import { useToolkits, useTools, type Tool } from "../../api/tools.ts";
import { visible } from "../../markdown/links.ts";
import { Disclosure } from "../../parts/disclosure.tsx";
import { Empty, Failed, Loading } from "../../parts/states.tsx";
import { JsonView, LongText } from "../../parts/values/json-view.tsx";
import { manage } from "../../text/manage/words.ts";
import { count, duration, preciseDuration } from "../../text/time.ts";
import { Facts } from "../facts.tsx";
import { argumentsOf } from "./arguments.ts";
import { LastCalls } from "./last-calls.tsx";
import { TryTool } from "./try-tool.tsx";

/** One tool: what it is for, what it is given, when a person is asked, and a try of it. */
export function ToolView({ name }: { name: string }) {
  const { data, error, refetch } = useTools();
  const tool = data?.find((one) => one.name === name);
  if (tool !== undefined) return <OneTool tool={tool} />;
  if (data !== undefined) return <Missing name={name} />;
  return error === null ? <Loading lines={6} /> : <Failed error={error} onRetry={() => void refetch()} />;
}

/** A tool that this person cannot use: by which rule, if there is one. */
function Missing({ name }: { name: string }) {
  const { t, i18n } = useTranslation(manage);
  const toolkit = useToolkits(i18n.language).data?.find(({ tools }) => tools.includes(name));
  if (toolkit === undefined) return <Empty icon={<SearchX />} title={t("tools.gone")} hint={t("tools.goneHint")} />;
  return <Empty title={t("tools.blocked")} hint={t(toolkit.is_enabled ? "tools.blockedHint" : "tools.offHint")} />;
}

function OneTool({ tool }: { tool: Tool }) {
  const { t, i18n } = useTranslation(manage);
  const { name, description, parameters, guideline, example } = tool;
  const toolkit = useToolkits(i18n.language).data?.find((one) => one.name === tool.toolkit);
  return (
    <div className="shaping-view">
      <header className="prompt-head">
        <div>
          <h2 className="mono">{visible(name)}</h2>
          <p className="hint">
            {tool.toolkit === null ? t("tools.external") : visible(toolkit?.title ?? tool.toolkit)}
            {toolkit !== undefined && ` · ${visible(toolkit.description)}`}
          </p>
        </div>
      </header>
      <div>
        {description.split(/\n+/u).map((line, at) => (
          <p key={at}>{visible(line)}</p>
        ))}
      </div>
      <Facts title={t("tools.asks")} rows={useAsks(tool)} />
      {tool.confirmation !== null && <p className="hint">{t("tools.asksHint")}</p>}
      <Arguments parameters={parameters} />
      <Facts title={t("models.facts")} rows={useFacts(tool)} />
      {guideline !== null && (
        <Disclosure title={t("tools.guideline")}>
          <LongText text={guideline} label={t("tools.guideline")} />
        </Disclosure>
      )}
      {example !== null && (
        <Disclosure title={t("tools.example", { title: visible(example.title) })}>
          <LongText text={example.body} label={visible(example.title)} />
        </Disclosure>
      )}
      <LastCalls tool={name} />
      <TryTool tool={name} parameters={parameters} />
    </div>
  );
}

const operations = [
  "Query",
  "Create",
  "SimpleModify",
  "ModifyCriticalFile",
  "DeleteFile",
  "DeleteFolder",
  "BatchOperation",
  "IrreversibleOperation",
  "HighRiskOperation",
  "EditDocument",
] as const;

/** What a call may turn out to be, and whether a person is asked then. */
function useAsks({ confirmation }: Tool): (readonly [string, string])[] {
  const { t } = useTranslation(manage);
  if (confirmation === null) return [[t("tools.anyCall"), t("tools.notKnown")]];
  return confirmation.map(({ operation, asks }) => {
    const known = operations.find((one) => one === operation);
    const answer = asks === "always" || asks === "never" ? asks : "more_than_10_items";
    return [known === undefined ? visible(operation) : t(`tools.operation.${known}`), t(`tools.when.${answer}`)];
  });
}

function useFacts(tool: Tool): (readonly [string, string])[] {
  const { t } = useTranslation(manage);
  const { effect, timeout_seconds, is_default, statistics } = tool;
  return [
    [t("tools.given"), t(is_default ? "tools.toAll" : "tools.byName")],
    [t("tools.repeat"), t(`tools.effect.${effect}`)],
    [t("tools.limit"), duration(timeout_seconds * 1_000)],
    ...(statistics === null || statistics.calls === 0
      ? []
      : ([
          [
            t("tools.calls"),
            t("tools.callsOf", {
              count: statistics.calls,
              calls: count(statistics.calls),
              failed: count(statistics.failures),
            }),
          ],
          [
            t("tools.took"),
            t("tools.tookOf", {
              mean: preciseDuration(statistics.total_ms / statistics.calls),
              longest: preciseDuration(statistics.longest_ms),
            }),
          ],
        ] as const)),
  ];
}

/** What the tool is given, argument by argument; all of the schema on request. */
function Arguments({ parameters }: { parameters: Tool["parameters"] }) {
  const { t } = useTranslation(manage);
  const rows = argumentsOf(parameters);
  return (
    <section className="prompt-part" aria-label={t("tools.arguments")}>
      <h2>{t("tools.arguments")}</h2>
      {rows.length === 0 && <p className="hint">{t("tools.noArguments")}</p>}
      <dl className="facts">
        {rows.map(({ name, type, isRequired, description }) => (
          <div key={name}>
            <dt className="mono">
              {visible(name)} {isRequired && <b className="chip">{t("prompts.required")}</b>}
            </dt>
            <dd>
              {type !== "" && <code>{visible(type)}</code>} {visible(description)}
            </dd>
          </div>
        ))}
      </dl>
      <Disclosure title={t("tools.schema")}>
        <JsonView value={parameters} label={t("tools.schema")} />
      </Disclosure>
    </section>
  );
}
