import FilePenLine from "icon:file-pen-line";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useLocation } from "wouter";
import type { PromptPlace } from "../../api/shaping/prompts.ts";
import { promptAddress } from "../../app/addresses.ts";
import { Empty } from "../../parts/states.tsx";
import { manage } from "../../text/manage/words.ts";
import { keepTextDraft, readTextDraft, type TextDraft } from "../draft-editor.tsx";
import { ListAndOne } from "../list-and-one.tsx";
import { PromptEditor } from "./prompt-editor.tsx";
import { PromptList } from "./prompt-list.tsx";

/** The texts that say to the assistant who it is and how it works. */
export function PromptsPage({ kind, name }: { kind: PromptPlace["kind"]; name: string | undefined }) {
  const { t } = useTranslation(manage);
  const [, navigate] = useLocation();
  const [drafts, setDraft] = useDrafts();
  const open = (next: PromptPlace["kind"], one?: string) => navigate(promptAddress(next, one));
  const segments = (["prompt", "identity"] as const).map((one) => ({
    label: t(one === "prompt" ? "prompts.templates" : "prompts.identities"),
    address: promptAddress(one),
    isHere: kind === one,
  }));
  return (
    <ListAndOne
      title={t("prompts.title")}
      segments={segments}
      segmentsLabel={t("prompts.kinds")}
      back={promptAddress(kind)}
      isOpen={name !== undefined}
      list={
        <PromptList
          kind={kind}
          current={name}
          isUnsaved={(one) => drafts({ kind, name: one }) !== undefined}
          onOpen={(one) => open(kind, one)}
        />
      }
    >
      {name === undefined ? (
        <Empty icon={<FilePenLine />} title={t("prompts.choose")} hint={t("prompts.chooseHint")} />
      ) : (
        <PromptEditor
          key={`${kind} ${name}`}
          place={{ kind, name }}
          draft={drafts({ kind, name })}
          onDraft={(draft) => setDraft({ kind, name }, draft)}
        />
      )}
    </ListAndOne>
  );
}

/** Changes that are not saved, of every text; they survive a reload. */
function useDrafts(): [
  (place: PromptPlace) => TextDraft | undefined,
  (place: PromptPlace, draft: TextDraft | undefined) => void,
] {
  const [changed, setChanged] = useState<ReadonlyMap<string, TextDraft | undefined>>(new Map());
  const keyOf = ({ kind, name }: PromptPlace) => `${kind}.${name}`;
  const read = (place: PromptPlace): TextDraft | undefined => {
    const key = keyOf(place);
    return changed.has(key) ? changed.get(key) : readTextDraft(key);
  };
  const write = (place: PromptPlace, draft: TextDraft | undefined): void => {
    setChanged((before) => new Map(before).set(keyOf(place), draft));
    keepTextDraft(keyOf(place), draft);
  };
  return [read, write];
}
