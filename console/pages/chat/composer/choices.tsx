import ChevronDown from "icon:chevron-down";
import Cpu from "icon:cpu";
import SlidersHorizontal from "icon:sliders-horizontal";
import Bot from "icon:bot";
import type { TFunction } from "i18next";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useLocation } from "wouter";
import { graphAddress } from "../../../app/addresses.ts";
import { keepDraft, readDraft } from "../../../app/kept/drafts.ts";
import { preferences, setPreferences, usePreferences, type Preferences } from "../../../app/kept/preferences.ts";
import { takesMessages, useTakesMessages } from "../../../api/graphs.ts";
import type { Assistant } from "../../../api/shapes.ts";
import { useAssistants, useModels, useThreadDetails } from "../../../api/threads.ts";
import { visible } from "../../../markdown/links.ts";
import { Button } from "../../../parts/button.tsx";
import { Menu } from "../../../parts/menu.tsx";
import { notify, notifyError } from "../../../parts/toast.tsx";

/** Who answers, and by which model. */
export interface RunChoices {
  assistant: string;
  /** It is the assistant of this server. */
  isOurs: boolean;
  name: string;
  /** Its graph takes messages. */
  takesMessages: boolean;
  model: string | undefined;
  mode: Mode | undefined;
  context: Record<string, unknown>;
  chooseAssistant: (id: string) => void;
  chooseModel: (name: string | undefined) => void;
  chooseMode: (mode: Mode) => void;
}

/** What stands in an empty field for messages. The assistant of this server is called by no name. */
export function invitation(t: TFunction, { isOurs, name }: RunChoices): string {
  return isOurs && name === "agent" ? t("chat.placeholderOwn") : t("chat.placeholder", { name });
}

/** Without a share of the window for what is found by searching. */
const noRetrieval = { context_shares: { rag: 0 } };
const oneTool = { tool_policy: "guarded" };

/** The context of a run by the choices for all runs, and by how the assistant works. */
function chosenContext({ retrieval, oneToolAtATime }: Preferences, mode: RunChoices["mode"]): Record<string, unknown> {
  return {
    ...(!retrieval && noRetrieval),
    ...(oneToolAtATime && oneTool),
    ...(mode !== undefined && { chat_mode: mode }),
  };
}

/** Where the model that was chosen for a thread, or for new ones, is kept on this device. */
const modelPlace = (threadId = "new"): string => `${threadId}.model`;
/** The same of how the assistant works. */
const modePlace = (threadId = "new"): string => `${threadId}.mode`;

/** Takes what was chosen for a new thread along into it. */
export function takeChoicesAlong(threadId: string, { model, mode }: RunChoices): void {
  keepDraft(modelPlace(threadId), model ?? "");
  keepDraft(modePlace(threadId), mode ?? "");
  // The next new thread begins as usual.
  keepDraft(modePlace(), "");
}

/** How the assistant works: with its tools; with a plan, while nothing may be changed; without tools. */
const modes = ["agent", "plan", "chat"] as const;
type Mode = (typeof modes)[number];

/** How the assistant works in a thread; nothing is said of it where that was never chosen. */
function useChosenMode(threadId: string | undefined): [Mode | undefined, RunChoices["chooseMode"]] {
  const place = modePlace(threadId);
  const [kept, setKept] = useState(() => readDraft(place));
  const choose = (mode: Mode) => {
    setKept(mode);
    keepDraft(place, mode);
  };
  return [modes.find((mode) => mode === kept), choose];
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
  const [mode, chooseMode] = useChosenMode(threadId);
  const options = usePreferences();
  const own = details?.assistant_id ?? details?.graph_id;
  const wanted = chosen ?? own ?? preferences().assistant;
  const found =
    assistants.find(({ assistant_id, graph_id }) => assistant_id === wanted || graph_id === wanted) ?? assistants[0];
  const assistant = found?.assistant_id ?? wanted;
  // Graphs of others do not know these.
  const isOurs = (found?.graph_id ?? wanted) === "agent";
  const isAnswering = useTakesMessages(assistant, found !== undefined && !isOurs);
  return {
    assistant,
    isOurs,
    takesMessages: isAnswering,
    name: found?.name ?? found?.graph_id ?? wanted,
    model,
    mode,
    context: { ...(model !== undefined && { model }), ...(isOurs && chosenContext(options, mode)) },
    chooseAssistant: (id) => {
      setChosen(id);
      setPreferences({ assistant: id });
    },
    chooseModel,
    chooseMode,
  };
}

/** The buttons that choose. */
export function Choices({ choices }: { choices: RunChoices }) {
  const { t } = useTranslation();
  const [, navigate] = useLocation();
  const assistants = useAssistants().data ?? [];
  const models = useModels().data?.models ?? [];
  /** A graph that takes no messages is led to, where its form is. */
  const choose = async ({ assistant_id, graph_id, name }: Assistant) => {
    try {
      if (graph_id === "agent" || (await takesMessages(assistant_id))) choices.chooseAssistant(assistant_id);
      else {
        notify(t("chat.noMessages", { name: visible(name ?? graph_id) }));
        navigate(graphAddress(assistant_id));
      }
    } catch (error) {
      notifyError(error);
    }
  };
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
          entries={assistants.map((assistant) => ({
            label: assistant.name ?? assistant.graph_id,
            checked: assistant.assistant_id === choices.assistant,
            onSelect: () => void choose(assistant),
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
      {choices.isOurs && <Options choices={choices} />}
    </>
  );
}

/** Says of a graph that takes no messages where it can be started. */
export function NoMessages({ choices: { assistant, name, takesMessages: isAnswering } }: { choices: RunChoices }) {
  const { t } = useTranslation();
  const [, navigate] = useLocation();
  if (isAnswering) return null;
  return (
    <div className="approve-all" role="note">
      <span>{t("chat.noMessages", { name: visible(name) })}</span>
      <Button size="small" onClick={() => navigate(graphAddress(assistant))}>
        {t("chat.openForm")}
      </Button>
    </div>
  );
}

/** How a run works; kept on this device. */
function Options({ choices: { mode, chooseMode } }: { choices: RunChoices }) {
  const { t } = useTranslation();
  const { retrieval, oneToolAtATime } = usePreferences();
  // What differs from the usual is in sight.
  const shown = mode === undefined || mode === "agent" ? undefined : t(`chat.mode.${mode}`);
  return (
    <Menu
      label={shown === undefined ? t("chat.options") : `${t("chat.options")}: ${shown}`}
      className={shown === undefined ? "icon-button" : "choice"}
      button={
        <>
          <SlidersHorizontal size={16} />
          {shown !== undefined && <span>{shown}</span>}
        </>
      }
      entries={[
        ...modes.map((one) => ({
          label: t(`chat.mode.${one}`),
          checked: one === (mode ?? "agent"),
          onSelect: () => chooseMode(one),
        })),
        "line",
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
