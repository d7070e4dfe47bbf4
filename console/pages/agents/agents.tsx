import SearchX from "icon:search-x";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useLocation } from "wouter";
import { useAgents, type Agent } from "../../api/shaping/agents.ts";
import { useCaller } from "../../api/threads.ts";
import { agentAddress, modelAddress, toolAddress } from "../../app/addresses.ts";
import { visible } from "../../markdown/links.ts";
import { Button } from "../../parts/button.tsx";
import { Empty, Failed, Loading } from "../../parts/states.tsx";
import { LongText } from "../../parts/values/json-view.tsx";
import { manage } from "../../text/manage/words.ts";
import { useTextDraft } from "../draft-editor.tsx";
import { ListEntry } from "../list-and-one.tsx";
import { PlaceLink } from "../place-link.tsx";
import { OwnFile } from "./own-file.tsx";
import { DeleteOwnFile, OwnFileEditor } from "./own-file-editor.tsx";

/** All agents. */
export function AgentList({ current, onOpen }: { current: string | undefined; onOpen: (name: string) => void }) {
  const { t } = useTranslation(manage);
  const { data, error, refetch } = useAgents();
  if (data === undefined) {
    return error === null ? <Loading lines={6} /> : <Failed error={error} onRetry={() => void refetch()} />;
  }
  if (data.length === 0) {
    return (
      <>
        <p className="hint">{t("agents.noAgents")}</p>
        <p className="hint">{t("agents.noAgentsHint", { path: ".autocoderagents/" })}</p>
      </>
    );
  }
  return (
    <ul>
      {data.map(({ name, path }) => (
        <li key={name}>
          <ListEntry title={visible(name)} name={visible(path)} isHere={name === current} onOpen={() => onOpen(name)} />
        </li>
      ))}
    </ul>
  );
}

/** One agent: what it is good for, what it may use, and its instructions. */
export function AgentView({ name }: { name: string }) {
  const { t } = useTranslation(manage);
  const { data, error, refetch } = useAgents();
  const [, navigate] = useLocation();
  const mayChange = useCaller().data?.may_administer === true;
  const [draft, setDraft] = useTextDraft(`agents ${name}`);
  const [isChosen, setChosen] = useState(false);
  const agent = data?.find((one) => one.name === name);
  if (data === undefined) {
    return error === null ? <Loading lines={6} /> : <Failed error={error} onRetry={() => void refetch()} />;
  }
  const isEdited = mayChange && (draft !== undefined || isChosen);
  if (agent === undefined && !isEdited) {
    return <Empty icon={<SearchX />} title={t("agents.gone")} hint={t("agents.goneHint")} />;
  }
  return (
    <div className="shaping-view">
      <header className="prompt-head">
        <div>
          <h2>{visible(name)}</h2>
          {agent !== undefined && <OwnFile path={agent.path} />}
        </div>
        {mayChange && (
          <div className="filters">
            {agent !== undefined && <DeleteOwnFile kind="agents" name={name} onGone={() => navigate(agentAddress())} />}
            {!isEdited && (
              <Button size="small" onClick={() => setChosen(true)}>
                {t("edit.edit")}
              </Button>
            )}
          </div>
        )}
      </header>
      {isEdited ? (
        <OwnFileEditor
          kind="agents"
          name={name}
          draft={draft}
          onDraft={setDraft}
          onSaved={() => setChosen(false)}
          onClose={isChosen ? () => setChosen(false) : undefined}
        />
      ) : (
        agent !== undefined && <AgentFacts agent={agent} />
      )}
      <p className="hint">{t("agents.changeHint")}</p>
    </div>
  );
}

function AgentFacts({ agent: { description, tools, model, include_rules, prompt } }: { agent: Agent }) {
  const { t } = useTranslation(manage);
  return (
    <>
      <p>{visible(description)}</p>
      <section className="prompt-part" aria-label={t("models.facts")}>
        <h2>{t("models.facts")}</h2>
        <dl className="facts">
          <div>
            <dt>{t("agents.tools")}</dt>
            <dd>
              {tools === null && t("agents.allTools")}
              {tools?.length === 0 && t("agents.noTools")}
              {tools?.map((tool) => (
                <PlaceLink key={tool} address={toolAddress(tool)}>
                  {visible(tool)}
                </PlaceLink>
              ))}
            </dd>
          </div>
          <div>
            <dt>{t("agents.model")}</dt>
            <dd>
              {model === null ? (
                t("agents.callersModel")
              ) : (
                <PlaceLink address={modelAddress(model)}>{visible(model)}</PlaceLink>
              )}
            </dd>
          </div>
          <div>
            <dt>{t("agents.knowsRules")}</dt>
            <dd>{t(include_rules ? "models.yes" : "models.no")}</dd>
          </div>
        </dl>
      </section>
      <section className="prompt-part" aria-label={t("agents.prompt")}>
        <h2>{t("agents.prompt")}</h2>
        <LongText text={prompt} label={t("agents.prompt")} />
      </section>
    </>
  );
}
