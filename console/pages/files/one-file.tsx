import Download from "icon:download";
import Pencil from "icon:pencil";
import Trash from "icon:trash-2";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useLocation } from "wouter";
import { ApiError } from "../../api/client.ts";
import { deleteFileOf, useAllChanges, useFileNow, type FileNow } from "../../api/files.ts";
import { saveFile } from "../../api/operations.ts";
import { fileAddress } from "../../app/addresses.ts";
import { CopyButton } from "../../markdown/code.tsx";
import { visible } from "../../markdown/links.ts";
import { Button, IconButton } from "../../parts/button.tsx";
import { Confirm } from "../../parts/confirm.tsx";
import { Failed, Loading, NextPage } from "../../parts/states.tsx";
import { notifyError } from "../../parts/toast.tsx";
import { manage } from "../../text/manage/words.ts";
import { FileView } from "../chat/changes/file-dialog.tsx";
import { useTextDraft } from "../draft-editor.tsx";
import { ChangeRow } from "./change-row.tsx";
import { FileEditor } from "./file-editor.tsx";

/** Characters of a text that an editor takes: each line of it is drawn. */
const maxLetters = 500_000;

/** A file as it is now, to be read and changed, and what was done to it in all chats. */
export function OneFile({ path }: { path: string }) {
  const { t } = useTranslation(manage);
  const read = useFileNow(path);
  const [draft, setDraft] = useTextDraft(`file ${path}`);
  const [isChosen, setChosen] = useState(false);
  const lastThread = useAllChanges(path).data?.pages[0]?.changes[0]?.thread_id;
  const isGone = read.error instanceof ApiError && read.error.status === 404;
  const now = isGone ? undefined : read.data;
  const letters = now?.content.kind === "text" ? now.content.text.length : undefined;
  const mayEdit = letters !== undefined && letters <= maxLetters;
  const isEdited = draft !== undefined || (isChosen && mayEdit);
  return (
    <div className="shaping-view">
      <FileHead
        path={path}
        now={now}
        lastThread={lastThread}
        onEdit={mayEdit && !isEdited ? () => setChosen(true) : undefined}
      />
      {letters !== undefined && !mayEdit && <p className="hint">{t("edit.tooLarge")}</p>}
      {isEdited ? (
        <FileEditor
          path={path}
          now={now}
          lastThread={lastThread}
          draft={draft}
          onDraft={setDraft}
          again={read.refetch}
          onClose={() => setChosen(false)}
        />
      ) : (
        <FileView
          path={path}
          isThere
          read={{ ...read, data: now?.content }}
          gone={{ title: t("files.gone"), hint: t("files.goneHint") }}
        />
      )}
      <History path={path} />
    </div>
  );
}

function FileHead({
  path,
  now,
  lastThread,
  onEdit,
}: {
  path: string;
  now: FileNow | undefined;
  lastThread: string | undefined;
  onEdit: (() => void) | undefined;
}) {
  const { t } = useTranslation(manage);
  const [, navigate] = useLocation();
  const [isAsked, setAsked] = useState(false);
  const name = visible(path.split("/").at(-1) ?? path);
  return (
    <header className="prompt-head">
      <div>
        <h2>{name}</h2>
        <p className="hint mono">{visible(path)}</p>
      </div>
      <div className="filters">
        <CopyButton text={path} label={t("files.copyPath")} className="icon-button" />
        <IconButton label={t("files.save")} onClick={() => void saveFile(path).catch(notifyError)}>
          <Download size={16} />
        </IconButton>
        {now !== undefined && (
          <IconButton label={t("edit.delete")} onClick={() => setAsked(true)}>
            <Trash size={16} />
          </IconButton>
        )}
        {onEdit !== undefined && (
          <Button size="small" onClick={onEdit}>
            <Pencil size={14} /> {t("edit.edit")}
          </Button>
        )}
      </div>
      {isAsked && now !== undefined && (
        <Confirm
          title={t("files.deleteOne", { name })}
          hint={[
            t(lastThread === undefined ? "files.deleteForEver" : "files.deleteHint"),
            now.isCritical && t("files.criticalHint"),
          ]
            .filter(Boolean)
            .join(" ")}
          action={t("edit.delete")}
          run={async () => {
            await deleteFileOf(path, { tag: now.tag, threadId: lastThread });
            navigate(fileAddress());
          }}
          onClose={() => setAsked(false)}
        />
      )}
    </header>
  );
}

function History({ path }: { path: string }) {
  const { t } = useTranslation(manage);
  const query = useAllChanges(path);
  const { data, error, refetch } = query;
  const changes = data?.pages.flatMap((page) => page.changes) ?? [];
  return (
    <section className="prompt-part" aria-label={t("files.history")}>
      <h2>{t("files.history")}</h2>
      {data === undefined && error === null && <Loading lines={3} />}
      {data === undefined && error !== null && <Failed error={error} onRetry={() => void refetch()} />}
      {data !== undefined && changes.length === 0 && <p className="hint">{t("files.noHistory")}</p>}
      {changes.map((change) => (
        <ChangeRow key={change.operation_id} change={change} all={changes} />
      ))}
      <NextPage query={query} label={t("files.older")} />
    </section>
  );
}
