import ArrowUp from "icon:arrow-up";
import Paperclip from "icon:paperclip";
import Square from "icon:square";
import { useEffect, useRef, useState, type KeyboardEvent } from "react";
import { useTranslation } from "react-i18next";
import { useDraft } from "../../../app/kept/drafts.ts";
import { isComposing } from "../../../app/keys.ts";
import { preferences } from "../../../app/kept/preferences.ts";
import { IconButton } from "../../../parts/button.tsx";
import { notifyError } from "../../../parts/toast.tsx";
import type { Unsent } from "../../../app/kept/outbox.ts";
import { AttachedPaths, AttachForm, useDraftPaths, useUploads } from "./attachments.tsx";
import { useCompletion } from "./completion.tsx";
import { Choices, invitation, NoMessages, useChoices } from "./choices.tsx";
import { show, useDelivery } from "./delivery.ts";
import { Queue } from "./queue.tsx";
import { useOpenThread, useSnapshot } from "../thread-context.tsx";

/** The field to say something in a thread. While a run works, what is said waits for its end. */
export function Composer({ threadId }: { threadId: string }) {
  const { t } = useTranslation();
  const thread = useOpenThread();
  const [text, setText] = useDraft(threadId);
  const [paths, setPaths] = useDraftPaths(threadId);
  const [isAttaching, setAttaching] = useState(false);
  const attach = (path: string) => setPaths((now) => [...now.filter((one) => one !== path), path]);
  const uploads = useUploads(attach);
  const isBusy = useSnapshot((snapshot) => snapshot.thread.isBusy);
  const isAsked = useSnapshot((snapshot) => snapshot.approvals.length > 0);
  const field = useGrowing(text);
  const choices = useChoices(threadId);
  const completion = useCompletion({ text, setText, attach });
  const delivery = useDelivery(threadId);
  const send = async () => {
    const words = text.trim();
    if ((words === "" && paths.length === 0) || !choices.takesMessages || uploads.count > 0) return;
    const said = { id: crypto.randomUUID(), text: words, attachments: [...paths], at: new Date().toISOString() };
    const unsent: Unsent = { said, assistant: choices.assistant, context: choices.context };
    setText("");
    setPaths(() => []);
    if (!isBusy) show(thread, unsent, "sending");
    await delivery.send(unsent);
  };
  const onKeyDown = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    if (isComposing(event.nativeEvent) || completion.onKeyDown(event)) return;
    if (event.key === "ArrowUp" && text === "" && editLast()) event.preventDefault();
    if (event.key !== "Enter") return;
    const sends = event.ctrlKey || event.metaKey || (preferences().enterSends && !event.shiftKey);
    if (!sends) return;
    event.preventDefault();
    void send();
  };
  const placeholder = isBusy ? t("chat.placeholderBusy") : isAsked ? t("chat.answer") : invitation(t, choices);
  return (
    <form
      className="composer"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      <Queue threadId={threadId} sendKept={delivery.sendKept} />
      {isAttaching && <AttachForm onAdd={attach} onFiles={uploads.start} onClose={() => setAttaching(false)} />}
      <NoMessages choices={choices} />
      {completion.list}
      <div className="composer-box" {...uploads.dropZone}>
        <AttachedPaths paths={paths} onRemove={(path) => setPaths((now) => now.filter((one) => one !== path))} />
        <p className="hint" role="status" hidden={uploads.count === 0}>
          {uploads.count > 0 && t("chat.uploading", { count: uploads.count })}
        </p>
        <textarea
          ref={field}
          className="composer-field"
          onPaste={uploads.onPaste}
          rows={1}
          value={text}
          data-stops=""
          placeholder={placeholder}
          aria-label={placeholder}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={onKeyDown}
          {...completion.attributes}
        />
        <div className="composer-tools">
          <IconButton label={t("chat.attach")} onClick={() => setAttaching(!isAttaching)} aria-pressed={isAttaching}>
            <Paperclip size={18} />
          </IconButton>
          <Choices choices={choices} />
          <span className="space" />
          {isBusy && <StopButton />}
          {(!isBusy || text.trim() !== "") && (
            <button
              type="submit"
              className="send-button"
              disabled={(text.trim() === "" && paths.length === 0) || !choices.takesMessages || uploads.count > 0}
              aria-label={isBusy ? t("chat.queue") : t("chat.send")}
              title={isBusy ? t("chat.queue") : t("chat.send")}
            >
              <ArrowUp size={18} />
            </button>
          )}
        </div>
      </div>
    </form>
  );
}

function StopButton() {
  const { t } = useTranslation();
  const thread = useOpenThread();
  const isStopping = useSnapshot((snapshot) => snapshot.isStopping);
  return (
    <button
      type="button"
      className="stop-button"
      onClick={() => void thread.stop().catch(notifyError)}
      disabled={isStopping}
      aria-label={isStopping ? t("chat.stopping") : t("chat.stop")}
      title={isStopping ? t("chat.stopping") : `${t("chat.stop")} (Esc)`}
    >
      <Square size={14} fill="currentColor" />
    </button>
  );
}

/** Opens the newest message of the user that can be said otherwise; false: there is none. */
export function editLast(): boolean {
  const buttons = document.querySelectorAll<HTMLButtonElement>("[data-edit]:not(:disabled)");
  const last = [...buttons].at(-1);
  last?.click();
  return last !== undefined;
}

/** Lets a field grow with what is written, up to what the sheet allows. */
function useGrowing(text: string): React.RefObject<HTMLTextAreaElement | null> {
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    const element = field.current;
    if (element === null) return;
    element.style.height = "auto";
    element.style.height = `${element.scrollHeight}px`;
  }, [text]);
  return field;
}
