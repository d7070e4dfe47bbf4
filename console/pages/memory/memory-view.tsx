import Brain from "icon:brain";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useLocation } from "wouter";
import {
  addMemory,
  changeMemory,
  deleteMemory,
  useMemory,
  type Memory,
  type MemoryInput,
} from "../../api/shaping/memory.ts";
import { memoryAddress } from "../../app/addresses.ts";
import { visible } from "../../markdown/links.ts";
import { Empty, Failed, Loading } from "../../parts/states.tsx";
import { notify, notifyError } from "../../parts/toast.tsx";
import { manage } from "../../text/manage/words.ts";
import { longTime } from "../../text/time.ts";
import { ChangedElsewhere } from "../changed-elsewhere.tsx";
import { DeleteButton } from "../forms/delete-button.tsx";
import { DraftButtons } from "../forms/draft-buttons.tsx";
import { useNewest } from "../forms/newest.ts";
import { isWhole, MemoryFields } from "./memory-fields.tsx";

/** What has been written and not saved. */
interface Draft {
  /** The memory as it was when the writing began. */
  base: Memory;
  memory: MemoryInput;
}

/** One memory, to be changed or deleted. */
export function MemoryView({ id, mayChange }: { id: string; mayChange: boolean }) {
  const { t } = useTranslation(manage);
  const { data, error, refetch } = useMemory(id);
  const [draft, setDraft] = useState<Draft>();
  const shown = data ?? draft?.base;
  if (shown !== undefined) {
    const now = async () => (await refetch({ throwOnError: true })).data ?? null;
    return (
      <Editor shown={shown} isGone={data === null} now={now} mayChange={mayChange} draft={draft} onDraft={setDraft} />
    );
  }
  if (data === null) return <Empty icon={<Brain />} title={t("memory.gone")} hint={t("memory.goneHint")} />;
  return error === null ? <Loading lines={4} /> : <Failed error={error} onRetry={() => void refetch()} />;
}

function Editor({
  shown,
  isGone,
  now,
  mayChange,
  draft,
  onDraft,
}: {
  shown: Memory;
  isGone: boolean;
  /** Reads it once more. */
  now: () => Promise<Memory | null>;
  mayChange: boolean;
  draft: Draft | undefined;
  onDraft: (draft: Draft | undefined) => void;
}) {
  const { t } = useTranslation(manage);
  const [, navigate] = useLocation();
  const newest = useNewest(draft);
  const { id, kind } = shown;
  const memory = draft?.memory ?? shown;
  const isChanged = draft !== undefined && (isGone || draft.base.updated_at !== shown.updated_at);
  const maySave = draft !== undefined && isWhole(draft.memory);
  const save = async (isOver: boolean) => {
    if (draft === undefined) return;
    // What another window or a chat has written meanwhile is not lost without a word.
    if (!isOver && (await now())?.updated_at !== draft.base.updated_at) return;
    if (isGone) navigate(memoryAddress(await addMemory(draft.memory)));
    const base = isGone ? undefined : await changeMemory(id, draft.memory);
    const more = newest.current === draft ? undefined : newest.current;
    onDraft(base && more && { ...more, base });
    notify(t("memory.saved"));
  };
  return (
    <div className="shaping-view schema-form">
      <header className="prompt-head">
        <div>
          <h2>{t(`memory.kindOf.${kind}`)}</h2>
          <p className="hint">{t("store.changed", { time: longTime(shown.updated_at) })}</p>
        </div>
        <div className="filters">
          <DeleteButton
            label={t("memory.delete")}
            hint={t("memory.deleteHint")}
            disabled={isGone}
            run={async () => {
              await deleteMemory(id);
              navigate(memoryAddress());
            }}
          />
          <DraftButtons
            isDirty={draft !== undefined}
            maySave={maySave && !isChanged}
            onDrop={() => onDraft(undefined)}
            save={() => save(false)}
          />
        </div>
      </header>
      {isChanged && (
        <ChangedElsewhere
          isGone={isGone}
          mayKeep={maySave}
          onKeep={() => save(true).catch(notifyError)}
          onTake={() => onDraft(undefined)}
          texts={isGone ? undefined : { theirs: textOf(shown), mine: textOf(memory) }}
        />
      )}
      <MemoryFields
        memory={memory}
        isReadOnly={!mayChange}
        onMemory={(next) => onDraft({ base: draft?.base ?? shown, memory: next })}
      />
      <p className="hint">{t("memory.when")}</p>
    </div>
  );
}

function textOf({ slot, content }: MemoryInput): string {
  return visible(slot === null ? content : `${slot}: ${content}`);
}
