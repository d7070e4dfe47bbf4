import Pencil from "icon:pencil";
import GitFork from "icon:git-fork";
import Undo from "icon:undo-2";
import { use, useState } from "react";
import { useTranslation } from "react-i18next";
import { useLocation } from "wouter";
import { threadAddress } from "../../app/addresses.ts";
import { keepDraft, readDraft } from "../../app/kept/drafts.ts";
import { isComposing } from "../../app/keys.ts";
import { sayAnew } from "../../app/kept/outbox.ts";
import { forkThread } from "../../api/threads.ts";
import { CopyButton } from "../../markdown/code.tsx";
import { Button, IconButton } from "../../parts/button.tsx";
import { Words } from "../../parts/words.tsx";
import { notifyError } from "../../parts/toast.tsx";
import { longTime } from "../../text/time.ts";
import type { UserItem } from "../../thread/items.ts";
import { operationsSince } from "../../thread/operations.ts";
import { Attachments } from "./attachment.tsx";
import { ConfirmUndo } from "./changes/confirm-undo.tsx";
import { useKeepOrUndo } from "./changes/keep-or-undo.tsx";
import { DeleteMessage } from "./delete-message.tsx";
import { useHasRested } from "./scrolling.ts";
import { Versions } from "./versions.tsx";
import { IsBranched, useOpenThread, useSnapshot } from "./thread-context.tsx";
import { focusAtFirst } from "../../parts/focus.ts";

/** What the user said, which can be said otherwise. */
export function UserMessage({ item }: { item: UserItem }) {
  const { t } = useTranslation();
  const thread = useOpenThread();
  const isBranched = use(IsBranched);
  const hasRested = useHasRested();
  const [edit, setEdit] = useState<"open" | "over">();
  if (edit === "open") return <EditMessage item={item} onDone={() => setEdit("over")} />;
  return (
    <article className="message user-message" data-state={item.state} aria-label={t("chat.you")}>
      <div className="user-bubble" title={item.timestamp === undefined ? undefined : longTime(item.timestamp)}>
        <Words text={item.text} />
        <Attachments paths={item.attachments.map(({ name }) => name)} />
      </div>
      {item.state === "sending" && <span className="message-state">{t("chat.sending")}</span>}
      {item.state === "failed" && <span className="message-state message-bad">{t("chat.notSent")}</span>}
      {item.state === "sent" &&
        !thread.isPast &&
        (hasRested ? (
          <UserActions item={item} wasEdited={edit === "over"} onEdit={() => setEdit("open")} />
        ) : (
          <div className="message-actions" />
        ))}
      {isBranched && !thread.isPast && <Versions threadId={thread.id} messageId={item.id} />}
    </article>
  );
}

function UserActions({ item, wasEdited, onEdit }: { item: UserItem; wasEdited: boolean; onEdit: () => void }) {
  const { t } = useTranslation();
  const thread = useOpenThread();
  const [, navigate] = useLocation();
  const [asks, setAsks] = useState(false);
  const isBusy = useSnapshot((snapshot) => snapshot.thread.isBusy);
  const allOperations = useSnapshot((snapshot) => snapshot.operations);
  const order = useSnapshot((snapshot) => snapshot.thread.order);
  const since = operationsSince(allOperations, order, item.id);
  return (
    <div className="message-actions" role="group" aria-label={t("chat.messageActions")}>
      <IconButton
        label={t("chat.edit")}
        onClick={onEdit}
        disabled={isBusy}
        data-edit=""
        // The field that had the focus is gone.
        ref={wasEdited ? focusAtFirst : undefined}
      >
        <Pencil size={15} />
      </IconButton>
      <CopyButton text={item.text} label={t("chat.copyText")} className="icon-button" />
      <IconButton
        label={t("chat.fork")}
        onClick={() => forkThread(thread.id, item.id).then((id) => navigate(threadAddress(id)), notifyError)}
      >
        <GitFork size={15} />
      </IconButton>
      {since.length > 0 && (
        <IconButton label={t("operation.undoSince")} onClick={() => setAsks(true)} disabled={isBusy}>
          <Undo size={15} />
        </IconButton>
      )}
      <DeleteMessage id={item.id} />
      {asks && <ConfirmUndo operations={since} what={{ since_message: item.id }} onClose={() => setAsks(false)} />}
    </div>
  );
}

function EditMessage({ item, onDone }: { item: UserItem; onDone: () => void }) {
  const { t } = useTranslation();
  const thread = useOpenThread();
  const draft = `${thread.id}.${item.id}`;
  const [text, setText] = useState(() => readDraft(draft) || item.text);
  const [isSending, setSending] = useState(false);
  const files = useKeepOrUndo();
  const change = (changed: string) => {
    setText(changed);
    keepDraft(draft, changed === item.text ? "" : changed);
  };
  const leave = () => {
    keepDraft(draft, "");
    onDone();
  };
  // What is written stays in the field until the server has taken it, and cannot be cancelled while it is being sent.
  const save = async () => {
    if (text.trim() === "" || isSending) return;
    setSending(true);
    try {
      if (!(await files.decide(item.id))) {
        setSending(false);
        return;
      }
      await thread.expectRun(sayAnew(thread.id, item.id, text));
      leave();
    } catch (error) {
      setSending(false);
      notifyError(error);
    } finally {
      await thread.sync();
    }
  };
  return (
    <div className="message user-message edit-message">
      <textarea
        className="input"
        aria-label={t("chat.edit")}
        value={text}
        rows={Math.min(12, text.split("\n").length + 1)}
        ref={focusAtFirst}
        readOnly={isSending}
        onChange={(event) => change(event.target.value)}
        onKeyDown={(event) => {
          if (isComposing(event.nativeEvent)) return;
          if (event.key === "Escape" && !isSending) leave();
          if (event.key === "Enter" && !event.shiftKey) {
            event.preventDefault();
            void save();
          }
        }}
      />
      {files.dialog}
      <p className="hint">{t("chat.editHint")}</p>
      <div className="row-end">
        <Button kind="quiet" onClick={leave} disabled={isSending}>
          {t("app.cancel")}
        </Button>
        <Button kind="primary" onClick={() => void save()} disabled={text.trim() === "" || isSending}>
          {t("chat.rerun")}
        </Button>
      </div>
    </div>
  );
}
