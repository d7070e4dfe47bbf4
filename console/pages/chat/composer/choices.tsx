import ChevronDown from "icon:chevron-down";
import Cpu from "icon:cpu";
import SlidersHorizontal from "icon:sliders-horizontal";
import Bot from "icon:bot";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { keepDraft, readDraft } from "../../../app/drafts.ts";
import { preferences, setPreferences, usePreferences, type Preferences } from "../../../app/preferences.ts";
import { useAssistants, useModels, useThreadDetails } from "../../../api/threads.ts";
import { Menu } from "../../../parts/menu.tsx";

/** Who answers, and by which model. */
export interface RunChoices {
  assistant: string;
  /** It is the assistant of this server. */
  isOurs: boolean;
  name: string;
  model: string | undefined;
  context: Record<string, unknown>;
  chooseAssistant: (id: string) => void;
  chooseModel: (name: string | undefined) => void;
}

/** Without a share of the window for what is found by searching. */
const noRetrieval = { context_shares: { rag: 0 } };
const oneTool = { tool_policy: "guarded" };

/** What a run is told of what was chosen for all of them. */
function chosenContext({ retrieval, oneToolAtATime }: Preferences): Record<string, unknown> {
  return { ...(!retrieval && noRetrieval), ...(oneToolAtATime && oneTool) };
}

/** Where the model that was chosen for a thread, or for new ones, is kept on this device. */
const modelPlace = (threadId = "new"): string => `${threadId}.model`;

/** Takes the model that was chosen for a new thread along into it. */
export function takeModelAlong(threadId: string, model: string | undefined): void {
  keepDraft(modelPlace(threadId), model ?? "");
}

/** The model that is chosen for a thread; one that is not there any more is not asked for. */
function useChosenModel(threadId: string | undefined): [string | undefined, RunChoices["chooseModel"]] {
  const place = modelPlace(threadId);
  const [kept, setKept] = useState(() => readDraft(place));
  const models = useModels().data?.models;
  const isThere = kept !== "" && (models?.some(({ name }) => name === kept) ?? true);
  const choose = (name = "") => {
    setKept(name);
    keepDraft(place, name);
  };
  return [isThere ? kept : undefined, choose];
}

/** The choices of a thread; a new one begins with what was chosen last. */
export function useChoices(threadId?: string): RunChoices {
  const assistants = useAssistants().data ?? [];
  const details = useThreadDetails(threadId ?? "", threadId !== undefined).data;
  const [chosen, setChosen] = useState<string>();
  const [model, chooseModel] = useChosenModel(threadId);
  const options = usePreferences();
  const own = details?.assistant_id ?? details?.graph_id;
  const wanted = chosen ?? own ?? preferences().assistant;
  const found =
    assistants.find(({ assistant_id, graph_id }) => assistant_id === wanted || graph_id === wanted) ?? assistants[0];
  const assistant = found?.assistant_id ?? wanted;
  // Graphs of others do not know these.
  const isOurs = (found?.graph_id ?? wanted) === "agent";
  return {
    assistant,
    isOurs,
    name: found?.name ?? found?.graph_id ?? wanted,
    model,
    context: { ...(model !== undefined && { model }), ...(isOurs && chosenContext(options)) },
    chooseAssistant: (id) => {
      setChosen(id);
      setPreferences({ assistant: id });
    },
    chooseModel,
  };
}

/** The buttons that choose. */
export function Choices({ choices }: { choices: RunChoices }) {
  const { t } = useTranslation();
  const assistants = useAssistants().data ?? [];
  const models = useModels().data?.models ?? [];
  const shownModel =
    models.find(({ name }) => name === choices.model)?.display_name ?? choices.model ?? t("chat.modelDefault");
  return (
    <>
      {assistants.length > 1 && (
        <Menu
          label={`${t("chat.assistantChoice")}: ${choices.name}`}
          className="choice"
          button={
            <>
              <Bot size={15} />
              <span>{choices.name}</span>
              <ChevronDown size={14} />
            </>
          }
          entries={assistants.map(({ assistant_id, name, graph_id }) => ({
            label: name ?? graph_id,
            checked: assistant_id === choices.assistant,
            onSelect: () => choices.chooseAssistant(assistant_id),
          }))}
        />
      )}
      {models.length > 1 && (
        <Menu
          label={`${t("chat.modelChoice")}: ${shownModel}`}
          className="choice"
          button={
            <>
              <Cpu size={15} />
              <span>{shownModel}</span>
              <ChevronDown size={14} />
            </>
          }
          entries={[
            {
              label: t("chat.modelDefault"),
              checked: choices.model === undefined,
              onSelect: () => choices.chooseModel(undefined),
            },
            "line",
            ...models.map(({ name, display_name }) => ({
              label: display_name ?? name,
              checked: name === choices.model,
              onSelect: () => choices.chooseModel(name),
            })),
          ]}
        />
      )}
      {choices.isOurs && <Options />}
    </>
  );
}

/** How a run works; kept on this device. */
function Options() {
  const { t } = useTranslation();
  const { retrieval, oneToolAtATime } = usePreferences();
  return (
    <Menu
      label={t("chat.options")}
      button={<SlidersHorizontal size={16} />}
      entries={[
        {
          label: t("chat.retrieval"),
          checked: retrieval,
          onSelect: () => setPreferences({ retrieval: !retrieval }),
        },
        {
          label: t("chat.oneTool"),
          checked: oneToolAtATime,
          onSelect: () => setPreferences({ oneToolAtATime: !oneToolAtATime }),
        },
      ]}
    />
  );
}
