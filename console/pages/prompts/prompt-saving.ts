import { useState } from "react";
import { useTranslation } from "react-i18next";
import { ApiError } from "../../api/client.ts";
import { usePromptChanges, type PromptPlace, type PromptText } from "../../api/shaping/prompts.ts";
import { notify, notifyError } from "../../parts/toast.tsx";
import { manage } from "../../text/manage/words.ts";
import type { TextDraft } from "../draft-editor.tsx";
import { useNewest } from "../forms/newest.ts";

/** A text of the assistant's in its editor. */
export interface Editing {
  place: PromptPlace;
  prompt: PromptText;
  draft: TextDraft | undefined;
  onDraft: (draft: TextDraft | undefined) => void;
}

/** Saves a text of the assistant's, and sets it back, unless another has changed it meanwhile. */
export function usePromptSaving({ place, prompt, draft, onDraft }: Editing) {
  const { t } = useTranslation(manage);
  const changes = usePromptChanges(place);
  const [isBusy, setBusy] = useState(false);
  const newest = useNewest(draft);
  // While it is saved, the version that is there is the one of this save.
  const isChanged = !isBusy && draft !== undefined && draft.base !== prompt.etag;
  const perform = (act: () => Promise<void>): Promise<void> => {
    setBusy(true);
    return act()
      .catch(notifyError)
      .finally(() => setBusy(false));
  };
  /** Drops the draft; what was written since it was sent stays one, of the version that is there now. */
  const settle = (base: string) => {
    const later = newest.current;
    onDraft(later === undefined || later.text === draft?.text ? undefined : { text: later.text, base });
  };
  const save = async (base: string) => {
    if (draft === undefined) return;
    let saved: string;
    try {
      saved = await changes.save(draft.text, base);
    } catch (error) {
      // What another has written was read, and is shown beside what was written here.
      if (error instanceof ApiError && error.status === 412) return;
      throw error;
    }
    settle(saved);
    notify(t("prompts.saved"));
  };
  const reset = async () => {
    const former = prompt.content;
    const etag = await changes.reset(prompt.etag);
    settle(etag);
    const run = () => void perform(() => changes.save(former, etag).then(() => undefined));
    notify(t("prompts.isReset"), { action: { label: t("prompts.takeBack"), run }, milliseconds: 10_000 });
  };
  return {
    isBusy,
    isChanged,
    change: (text: string) =>
      onDraft(
        text === prompt.content && !isChanged && !isBusy ? undefined : { text, base: draft?.base ?? prompt.etag },
      ),
    drop: () => onDraft(undefined),
    save: (base: string) => void perform(() => save(base)),
    reset: () => perform(reset),
  };
}
