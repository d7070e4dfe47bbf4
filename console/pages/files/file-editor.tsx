import { useState } from "react";
import { useTranslation } from "react-i18next";
import { readFilesAgain, writeFileOf, type FileNow } from "../../api/files.ts";
import { useThreads } from "../../api/threads.ts";
import { visible } from "../../markdown/links.ts";
import { manage } from "../../text/manage/words.ts";
import { DraftEditor, type TextDraft } from "../draft-editor.tsx";
import { ThreadChoice } from "../thread-choice.tsx";

/** A text of the workspace in an editor. What is saved is a change of the chosen chat, so that it can be undone there. */
export function FileEditor({
  path,
  now,
  lastThread,
  draft,
  onDraft,
  again,
  onClose,
}: {
  path: string;
  /** The file as it is; `undefined`: it is gone. */
  now: FileNow | undefined;
  /** The chat that has changed it last. */
  lastThread: string | undefined;
  draft: TextDraft | undefined;
  onDraft: (draft: TextDraft | undefined) => void;
  again: () => Promise<unknown>;
  onClose: () => void;
}) {
  const { t } = useTranslation(manage);
  const newest = useThreads({ archived: false }).data?.pages[0]?.threads[0]?.thread_id;
  const [chosen, setThread] = useState<{ id: string | undefined }>();
  const threadId = chosen === undefined ? (lastThread ?? newest) : chosen.id;
  const text = now?.content.kind === "text" ? now.content.text : undefined;
  return (
    <>
      <DraftEditor
        label={t("edit.text", { name: visible(path) })}
        // A field knows one kind of line break; the file keeps its own.
        now={now === undefined || text === undefined ? undefined : { text: withPlainEnds(text), version: now.tag }}
        draft={draft}
        onDraft={onDraft}
        save={async (next, version) => {
          const isOfWindows = text?.includes("\r\n") === true;
          const bytes = (now?.mark ?? "") + (isOfWindows ? next.replaceAll("\n", "\r\n") : next);
          const saved = await writeFileOf(path, bytes, { tag: version, threadId });
          await readFilesAgain();
          return saved;
        }}
        again={again}
        onClose={onClose}
        question={
          now?.isCritical === true
            ? { title: t("files.changeCritical", { name: visible(path) }), hint: t("files.criticalHint") }
            : undefined
        }
      >
        <p className="hint">{t(threadId === undefined ? "files.noWayBack" : "files.wayBack")}</p>
      </DraftEditor>
      <ThreadChoice
        label={t("files.recordedIn")}
        none={t("files.recordedNowhere")}
        threadId={threadId}
        onThread={(id) => setThread({ id })}
      />
    </>
  );
}

function withPlainEnds(text: string): string {
  return text.replaceAll("\r\n", "\n");
}
