import FilePenLine from "icon:file-pen-line";
import ArrowLeft from "icon:arrow-left";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useLocation } from "wouter";
import type { PromptPlace } from "../../api/prompts.ts";
import { promptAddress } from "../../app/addresses.ts";
import { keepDraft, readDraft } from "../../app/drafts.ts";
import { usePageTitle } from "../../app/news.ts";
import { IconButton } from "../../parts/button.tsx";
import { Empty } from "../../parts/states.tsx";
import { manage } from "../../text/manage/words.ts";
import { PromptEditor } from "./prompt-editor.tsx";
import { PromptList } from "./prompt-list.tsx";
import "../../style/later.css";

/** The texts by which the assistant is told who it is and how it works. */
export function PromptsPage({ kind, name }: { kind: PromptPlace["kind"]; name: string | undefined }) {
  const { t } = useTranslation(manage);
  const [, navigate] = useLocation();
  const [drafts, setDraft] = useDrafts();
  usePageTitle(t("prompts.title"));
  const open = (next: PromptPlace["kind"], one?: string) => navigate(promptAddress(next, one));
  return (
    <div className="prompts" data-open={name !== undefined || undefined}>
      <header className="page-head">
        {name !== undefined && (
          <span className="prompts-back">
            <IconButton label={t("prompts.title")} onClick={() => open(kind)}>
              <ArrowLeft size={18} />
            </IconButton>
          </span>
        )}
        <h1>{t("prompts.title")}</h1>
        <div className="segments" role="group" aria-label={t("prompts.kinds")}>
          {(["prompt", "identity"] as const).map((one) => (
            <button key={one} type="button" aria-pressed={kind === one} onClick={() => open(one)}>
              {t(one === "prompt" ? "prompts.templates" : "prompts.identities")}
            </button>
          ))}
        </div>
      </header>
      <div className="prompts-columns">
        <PromptList
          kind={kind}
          current={name}
          isUnsaved={(one) => drafts({ kind, name: one }) !== undefined}
          onOpen={(one) => open(kind, one)}
        />
        <div className="prompts-one">
          {name === undefined ? (
            <Empty icon={<FilePenLine />} title={t("prompts.choose")} hint={t("prompts.chooseHint")} />
          ) : (
            <PromptEditor
              key={`${kind} ${name}`}
              place={{ kind, name }}
              draft={drafts({ kind, name })}
              onDraft={(text) => setDraft({ kind, name }, text)}
            />
          )}
        </div>
      </div>
    </div>
  );
}

/** Changes that are not saved, of every text; they survive a reload. */
function useDrafts(): [
  (place: PromptPlace) => string | undefined,
  (place: PromptPlace, text: string | undefined) => void,
] {
  const [changed, setChanged] = useState<ReadonlyMap<string, string | undefined>>(new Map());
  const keyOf = ({ kind, name }: PromptPlace) => `${kind}.${name}`;
  const read = (place: PromptPlace): string | undefined => {
    const key = keyOf(place);
    return changed.has(key) ? changed.get(key) : readDraft(key) || undefined;
  };
  const write = (place: PromptPlace, text: string | undefined): void => {
    setChanged(new Map(changed).set(keyOf(place), text));
    keepDraft(keyOf(place), text ?? "");
  };
  return [read, write];
}
