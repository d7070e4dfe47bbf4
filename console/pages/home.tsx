import ArrowUp from "icon:arrow-up";
import Paperclip from "icon:paperclip";
import { useEffect, useState } from "react";
import { useTranslation } from "react-i18next";
import { useLocation } from "wouter";
import { threadAddress } from "../app/addresses.ts";
import { sendMessage, takeAlong, unsentOf } from "../app/kept/outbox.ts";
import { keepDraft, newThreadDraft, readDraft, useDraft } from "../app/kept/drafts.ts";
import { isComposing } from "../app/keys.ts";
import { preferences } from "../app/kept/preferences.ts";
import { useApprovals } from "../api/approvals.ts";
import { createThread, useCaller, useModels, useThreads } from "../api/threads.ts";
import type { ThreadInfo } from "../api/shapes.ts";
import { Button, IconButton } from "../parts/button.tsx";
import { loadable } from "../parts/loadable.ts";
import { Failed, Loading } from "../parts/states.tsx";
import { notifyError } from "../parts/toast.tsx";
import { Ago } from "../parts/values/ago.tsx";
import { AttachedPaths, AttachForm, useDraftPaths, useUploads } from "./chat/composer/attachments.tsx";
import { useCompletion } from "./chat/composer/completion.tsx";
import { Choices, invitation, NoMessages, takeChoicesAlong, useChoices } from "./chat/composer/choices.tsx";
import { focusAtFirst } from "../parts/focus.ts";

const addModel = loadable(() => import("./models/add-model.tsx"));

/** Threads that stand in a block. */
const maxShown = 5;

/** Where one begins: a field to start with, what waits, what works, what was. */
export function HomePage() {
  const { t } = useTranslation();
  const recent = useThreads({ archived: false });
  const threads = threadsOf(recent);
  const approvals = useApprovals().data ?? [];
  const waiting = useThreadsOf("interrupted", recent);
  const working = useThreadsOf("busy", recent);
  const isNew = recent.data !== undefined && threads.length === 0;
  const [text, setText] = useDraft(newThreadDraft);
  return (
    <div className="home">
      <div className="home-inner">
        <h1 className="home-title">{t("home.greeting")}</h1>
        <NewThread text={text} setText={setText} />
        <OfflineHint />
        {recent.isPending && <Loading lines={4} />}
        {recent.error !== null && recent.data === undefined && (
          <Failed error={recent.error} onRetry={() => void recent.refetch()} />
        )}
        {isNew && (
          <section className="examples" aria-label={t("home.examples")}>
            {[t("home.example1"), t("home.example2"), t("home.example3")].map((example) => (
              <button key={example} type="button" className="suggestion" onClick={() => setText(example)}>
                {example}
              </button>
            ))}
          </section>
        )}
        <Block
          title={t("home.waiting")}
          threads={waiting}
          note={(thread) =>
            t("home.stepsWaiting", {
              count: approvals.filter(({ thread_id }) => thread_id === thread.thread_id).length || 1,
            })
          }
        />
        <Block title={t("home.working")} threads={working} />
        <Block
          title={t("home.recent")}
          threads={threads.filter(({ status }) => status === "idle" || status === "error")}
        />
      </div>
    </div>
  );
}

function threadsOf({ data }: Pick<ReturnType<typeof useThreads>, "data">): readonly ThreadInfo[] {
  return data?.pages.flatMap((page) => page.threads) ?? [];
}

/** The threads of a status: those of the list, and where that goes on, what the server finds. */
function useThreadsOf(status: string, { data, hasNextPage }: ReturnType<typeof useThreads>): readonly ThreadInfo[] {
  const found = useThreads({ archived: false, status }, hasNextPage);
  return threadsOf(hasNextPage ? found : { data }).filter((thread) => thread.status === status);
}

/** Where the thread is kept whose first message is on its way. */
const begun = `${newThreadDraft}.thread`;

/** The field that starts a thread. */
function NewThread({ text, setText }: { text: string; setText: ReturnType<typeof useDraft>[1] }) {
  const { t } = useTranslation();
  const [, navigate] = useLocation();
  const choices = useChoices();
  const [paths, setPaths] = useDraftPaths(newThreadDraft);
  const attach = (path: string) => setPaths((now) => [...now.filter((one) => one !== path), path]);
  const completion = useCompletion({ text, setText, attach });
  const [isAttaching, setAttaching] = useState(false);
  const uploads = useUploads(attach);
  const [isSending, setSending] = useState(false);
  const isEmpty = text.trim() === "" && paths.length === 0;
  const maySend = !isEmpty && !isSending && choices.takesMessages && uploads.count === 0;
  const send = async () => {
    const words = text.trim();
    if (!maySend) return;
    setSending(true);
    let id = "";
    try {
      id = await createThread();
      takeChoicesAlong(id, choices);
      const said = { id: crypto.randomUUID(), text: words, attachments: [...paths], at: new Date().toISOString() };
      // Without an answer the page of the chat sends it again.
      const sent = sendMessage(id, { said, assistant: choices.assistant, context: choices.context });
      keepDraft(begun, id);
      setText((now) => (now === text ? "" : now));
      setPaths((now) => now.filter((path) => !paths.includes(path)));
      if ((await sent) === "sent") keepDraft(begun, "");
      navigate(threadAddress(id));
    } catch (error) {
      keepDraft(begun, "");
      takeAlong(id);
      notifyError(error);
      setSending(false);
    }
  };
  // The page was loaded anew, or left, in the middle of that.
  useEffect(() => {
    const id = readDraft(begun);
    keepDraft(begun, "");
    if (unsentOf(id).length > 0) navigate(threadAddress(id), { replace: true });
  }, [navigate]);
  const placeholder = invitation(t, choices);
  return (
    <form
      className="composer home-composer"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      {isAttaching && <AttachForm onAdd={attach} onFiles={uploads.start} onClose={() => setAttaching(false)} />}
      <NoMessages choices={choices} />
      {completion.list}
      <div className="composer-box" {...uploads.dropZone}>
        <AttachedPaths paths={paths} onRemove={(path) => setPaths((now) => now.filter((one) => one !== path))} />
        <p className="hint" role="status" hidden={uploads.count === 0}>
          {uploads.count > 0 && t("chat.uploading", { count: uploads.count })}
        </p>
        <textarea
          className="composer-field"
          onPaste={uploads.onPaste}
          rows={2}
          value={text}
          placeholder={placeholder}
          aria-label={placeholder}
          ref={focusAtFirst}
          readOnly={isSending}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={(event) => {
            if (isComposing(event.nativeEvent) || completion.onKeyDown(event) || event.key !== "Enter") return;
            if (!event.ctrlKey && !event.metaKey && (event.shiftKey || !preferences().enterSends)) return;
            event.preventDefault();
            void send();
          }}
          {...completion.attributes}
        />
        <div className="composer-tools">
          <IconButton label={t("chat.attach")} onClick={() => setAttaching(!isAttaching)} aria-pressed={isAttaching}>
            <Paperclip size={18} />
          </IconButton>
          <Choices choices={choices} />
          <span className="space" />
          <button
            type="submit"
            className="send-button"
            disabled={!maySend}
            aria-label={t("chat.send")}
            title={t("chat.send")}
          >
            <ArrowUp size={18} />
          </button>
        </div>
      </div>
    </form>
  );
}

function OfflineHint() {
  const { t } = useTranslation();
  const main = useModels().data?.roles?.["main"];
  const mayAdd = useCaller().data?.may_administer === true;
  const [isAdding, setAdding] = useState(false);
  const dialog = addModel.useModule(isAdding);
  if (main !== "offline") return null;
  return (
    <p className="hint home-hint">
      {t("home.offlineModel")}{" "}
      {mayAdd && (
        <Button size="small" onClick={() => setAdding(true)}>
          {t("home.addModel")}
        </Button>
      )}
      {dialog && <dialog.AddModel onClose={() => setAdding(false)} />}
    </p>
  );
}

function Block({
  title,
  threads,
  note,
}: {
  title: string;
  threads: readonly ThreadInfo[];
  note?: (thread: ThreadInfo) => string;
}) {
  const [, navigate] = useLocation();
  if (threads.length === 0) return null;
  return (
    <section className="home-block">
      <h2>{title}</h2>
      <ul>
        {threads.slice(0, maxShown).map((thread) => (
          <li key={thread.thread_id}>
            <a
              className="home-thread"
              href={`/console${threadAddress(thread.thread_id)}`}
              onClick={(event) => {
                if (event.metaKey || event.ctrlKey) return;
                event.preventDefault();
                navigate(threadAddress(thread.thread_id));
              }}
            >
              {thread.status !== "idle" && <i className="status-dot" data-status={thread.status} />}
              <span className="home-name">{thread.name === "" ? thread.preview : thread.name}</span>
              <span className="home-note">{note?.(thread) ?? <Ago at={thread.updated_at} />}</span>
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}
