import { useId, useMemo, useRef, useState, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import * as z from "zod/mini";
import { ApiError } from "../api/client.ts";
import { useCommands } from "../app/commands.ts";
import { keepDraft, readDraft } from "../app/kept/drafts.ts";
import { valueOf } from "../app/kept/texts.ts";
import { shownKeys } from "../app/keys.ts";
import { Button } from "../parts/button.tsx";
import { Confirm } from "../parts/confirm.tsx";
import { notify, notifyError } from "../parts/toast.tsx";
import { manage } from "../text/manage/words.ts";
import { ChangedElsewhere } from "./changed-elsewhere.tsx";
import { useNewest } from "./forms/newest.ts";
import { TextEditor } from "./prompts/text-editor.tsx";

const Kept = z.object({ text: z.string(), base: z.string() });
/** A text that was written and not saved. `base`: the version that was there when it was begun; empty: nothing. */
export type TextDraft = z.infer<typeof Kept>;

/** What was written and not saved, by a name. */
export function readTextDraft(name: string): TextDraft | undefined {
  return valueOf(readDraft(name), Kept);
}

/** Keeps what was written and not saved, by a name; `undefined` forgets it. */
export function keepTextDraft(name: string, draft: TextDraft | undefined): void {
  keepDraft(name, draft === undefined ? "" : JSON.stringify(draft));
}

/** What was written and not saved, by a name; it survives a reload. */
export function useTextDraft(name: string): [TextDraft | undefined, (draft: TextDraft | undefined) => void] {
  const [draft, setDraft] = useState(() => readTextDraft(name));
  return [
    draft,
    (next) => {
      setDraft(next);
      keepTextDraft(name, next);
    },
  ];
}

/** A text in an editor. What is written is kept until it is saved or let go, also where the text changes elsewhere. */
export function DraftEditor({
  label,
  now,
  draft,
  onDraft,
  save,
  again,
  onClose,
  isUsable = true,
  question,
  children,
}: {
  label: string;
  /** What is there; `undefined`: nothing any more. */
  now: { text: string; version: string } | undefined;
  draft: TextDraft | undefined;
  onDraft: (draft: TextDraft | undefined) => void;
  /** Writes it in place of a version, which the server refuses with 412 where another is there; gives the new version. */
  save: (text: string, version: string) => Promise<string>;
  /** Reads again what is there. */
  again: () => Promise<unknown>;
  /** Where it is not always edited: goes back to reading. */
  onClose?: (() => void) | undefined;
  /** Whether the text may be saved as it is. */
  isUsable?: boolean;
  /** What is asked before it is saved, if something is. */
  question?: { title: string; hint: string } | undefined;
  /** What is said of the text, below it. */
  children?: ReactNode;
}) {
  const { t } = useTranslation(manage);
  const id = useId();
  const field = useRef<HTMLTextAreaElement>(null);
  const [isBusy, setBusy] = useState(false);
  const version = now?.version ?? "";
  const isChanged = draft !== undefined && draft.base !== version;
  const maySave = draft !== undefined && isUsable && !isBusy;
  const [asked, setAsked] = useState<string>();
  const newest = useNewest(draft);
  const keep = async (base: string) => {
    if (draft === undefined) return;
    setBusy(true);
    try {
      const saved = await save(draft.text, base);
      const { text = draft.text } = newest.current ?? {};
      onDraft(text === draft.text ? undefined : { text, base: saved });
      notify(t("edit.saved"));
    } catch (error) {
      // What another has written is shown beside what was written here.
      if (error instanceof ApiError && error.status === 412) await again();
      else notifyError(error);
    } finally {
      setBusy(false);
    }
  };
  const begin = (base: string): void => {
    if (question === undefined) void keep(base);
    else setAsked(base);
  };
  useSaveKey(() => maySave && !isChanged && begin(version));
  return (
    <div className="draft-editor">
      {isChanged && (
        <ChangedElsewhere
          isGone={now === undefined}
          mayKeep={maySave}
          onKeep={() => begin(version)}
          onTake={() => onDraft(undefined)}
          texts={now && { theirs: now.text, mine: draft.text }}
        />
      )}
      <TextEditor
        value={draft?.text ?? now?.text ?? ""}
        onChange={(text) =>
          onDraft(text === now?.text && !isChanged ? undefined : { text, base: draft?.base ?? version })
        }
        readOnly={false}
        label={label}
        describedBy={`${id}-about`}
        field={field}
      />
      <div id={`${id}-about`} className="prompt-problems" role="status">
        {children}
        <p className="hint">{t("prompts.leave")}</p>
      </div>
      <div className="row-end">
        {onClose !== undefined && (
          <Button size="small" kind="quiet" disabled={draft !== undefined} onClick={onClose}>
            {t("edit.close")}
          </Button>
        )}
        <Button size="small" disabled={draft === undefined || isBusy} onClick={() => onDraft(undefined)}>
          {t("prompts.discard")}
        </Button>
        <Button size="small" kind="primary" disabled={!maySave || isChanged} onClick={() => begin(version)}>
          {t("prompts.save")} <kbd>{shownKeys("mod+s")}</kbd>
        </Button>
      </div>
      {question !== undefined && asked !== undefined && (
        <Confirm {...question} action={t("prompts.save")} run={() => keep(asked)} onClose={() => setAsked(undefined)} />
      )}
    </div>
  );
}

/** `Ctrl S` saves, as in every editor. */
export function useSaveKey(run: () => void): void {
  const { t } = useTranslation(manage);
  const commands = useMemo(
    () => [{ id: "save", group: "here" as const, label: t("prompts.save"), keys: "mod+s", run }],
    [t, run],
  );
  useCommands(commands);
}
