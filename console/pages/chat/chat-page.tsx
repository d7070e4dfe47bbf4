import i18next from "i18next";
import { useEffect, useMemo, useState, useSyncExternalStore } from "react";
import { useTranslation } from "react-i18next";
import { useLocation, useSearch } from "wouter";
import { useCommands, type Command } from "../../app/commands.ts";
import { takeAlong } from "../../app/kept/outbox.ts";
import { isTyping } from "../../app/keys.ts";
import { usePageTitle } from "../../app/news.ts";
import { onChange } from "../../api/live/feed.ts";
import { undoTogether } from "../../api/operations.ts";
import type { ThreadDetails } from "../../api/shapes.ts";
import { markThread, useThreadDetails } from "../../api/threads.ts";
import { OpenFile } from "../../markdown/file-link.tsx";
import { visible } from "../../markdown/links.ts";
import { Button } from "../../parts/button.tsx";
import { lazyComponent } from "../../parts/loadable.ts";
import { Empty, Failed, Loading, messageOf } from "../../parts/states.tsx";
import { notify, notifyError } from "../../parts/toast.tsx";
import { undoable } from "../../thread/operations.ts";
import { isGone, OpenThread } from "../../thread/open-thread.ts";
import CircleAlert from "icon:circle-alert";
import SearchX from "icon:search-x";
import { useAnnouncements } from "./announcements.ts";
import { ApprovalDock } from "./approval-dock.tsx";
import { Composer, editLast } from "./composer/composer.tsx";
import { ChangesOfChat } from "./changes/changes-place.tsx";
import { WorkspaceFile } from "./changes/workspace-file.tsx";
import { Conversation } from "./conversation.tsx";
import { FindBar } from "./find/find-bar.tsx";
import { ThreadContext, useOpenThread, useSnapshot } from "./thread-context.tsx";
import { TitleBar } from "./title-bar.tsx";

const PastBar = lazyComponent(async () => (await import("./past-bar.tsx")).PastBar);

/** A thread: its conversation, what it waits for, and the field to say something; with `?at=` as it was at a checkpoint. */
export function ChatPage({ threadId }: { threadId: string }) {
  const checkpoint = new URLSearchParams(useSearch()).get("at");
  const isPast = checkpoint !== null;
  const thread = useMemo(() => new OpenThread(threadId, isPast), [threadId, isPast]);
  useEffect(() => thread.open(), [thread]);
  useEffect(() => {
    if (checkpoint !== null) thread.lookAt(checkpoint);
  }, [thread, checkpoint]);
  useEffect(() => onChange((event) => thread.onFeedEvent(event)), [thread]);
  return (
    <ThreadContext value={thread}>
      <ChangesOfChat>
        <Chat checkpoint={checkpoint ?? ""} />
      </ChangesOfChat>
    </ThreadContext>
  );
}

function Chat({ checkpoint }: { checkpoint: string }) {
  const { t } = useTranslation();
  const thread = useOpenThread();
  const [, navigate] = useLocation();
  const error = useSnapshot((snapshot) => snapshot.error);
  const isLoading = useSnapshot((snapshot) => snapshot.isLoading);
  const hasItems = useSnapshot(({ thread: { order } }) => order.length > 0);
  const details = useThreadDetails(thread.id, !isGone(error));
  const [file, setFile] = useState<string>();
  usePageTitle(details.data?.name);
  useReadMark(details.data);
  useStopByEscape();
  useAnnouncements();
  const [isFinding, setFinding] = useState(false);
  useChatCommands(isFinding, setFinding);
  const { isPast } = thread;
  if (isGone(error) && !isPast) {
    return (
      <Empty icon={<SearchX />} title={t("chat.gone")} hint={t("chat.goneHint")} isPage>
        <Button
          kind="primary"
          onClick={() => {
            takeAlong(thread.id);
            navigate("/");
          }}
        >
          {t("chat.newOne")}
        </Button>
      </Empty>
    );
  }
  return (
    <div className="chat" data-past={isPast || undefined}>
      {isPast ? (
        <PastBar name={details.data?.name ?? ""} checkpoint={checkpoint} />
      ) : (
        <TitleBar details={details.data} onFind={() => setFinding(true)} />
      )}
      {isFinding && hasItems && <FindBar onClose={() => setFinding(false)} />}
      {isLoading ? (
        <div className="chat-loading">
          <Loading lines={5} />
        </div>
      ) : error !== undefined && !hasItems ? (
        <Failed error={error} onRetry={() => void thread.sync()} />
      ) : (
        <OpenFile value={setFile}>
          <Conversation />
        </OpenFile>
      )}
      {error !== undefined && hasItems && <StaleBar error={error} />}
      {!isPast && (
        <div className="chat-foot">
          <OpenFile value={setFile}>
            <ApprovalDock />
          </OpenFile>
          <Composer threadId={thread.id} />
        </div>
      )}
      {file !== undefined && <WorkspaceFile path={file} onClose={() => setFile(undefined)} />}
    </div>
  );
}

/** Says that what is shown could not be read again, and reads it once more. */
function StaleBar({ error }: { error: unknown }) {
  const { t } = useTranslation();
  const thread = useOpenThread();
  return (
    <div className="error-bar" role="alert">
      <CircleAlert size={18} />
      <span>{visible(messageOf(error))}</span>
      <Button size="small" onClick={() => void thread.sync()}>
        {t("app.retry")}
      </Button>
    </div>
  );
}

/** Notes how far the thread was read while its page is in sight; one that was just begun, at once. */
function useReadMark(details: ThreadDetails | undefined): void {
  const isInSight = useSyncExternalStore(onVisibility, () => !document.hidden);
  const { thread_id: id, updated_at: at, read_at: mark, unread_since: since, status } = details ?? {};
  const isUnread = mark === null || (typeof since === "string" && status !== "busy");
  useEffect(() => {
    if (id === undefined || at === undefined || !isUnread || !isInSight) return;
    // Where that does not arrive, the thread is unread, and the next look at it is noted.
    markThread(id, { read_at: at }).catch(() => undefined);
  }, [id, at, isUnread, isInSight]);
}

function onVisibility(listener: () => void): () => void {
  document.addEventListener("visibilitychange", listener);
  return () => document.removeEventListener("visibilitychange", listener);
}

/** Escape stops the run where nothing else is open; what was said stays. */
function useStopByEscape(): void {
  const thread = useOpenThread();
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.key !== "Escape" || event.defaultPrevented || event.isComposing) return;
      const isElsewhere =
        isTyping(event.target) && event.target instanceof HTMLElement && event.target.dataset["stops"] === undefined;
      if (isElsewhere || document.querySelector("[role=dialog], [role=menu]") !== null) return;
      const { thread: state } = thread.snapshot();
      if (!state.isBusy) return;
      thread.stop().catch(notifyError);
    };
    addEventListener("keydown", onKeyDown);
    return () => removeEventListener("keydown", onKeyDown);
  }, [thread]);
}

/** Takes the newest change of the workspace back. */
async function undoNewest(thread: OpenThread): Promise<void> {
  const [newest] = undoable(thread.snapshot().operations);
  if (newest === undefined) {
    notify(i18next.t("operation.nothing"));
    return;
  }
  const { operations, conflicts } = await undoTogether(thread.id, [newest.operation_id]);
  const [conflict] = conflicts;
  if (conflict === undefined) notify(i18next.t("operation.undoCount", { count: operations.length }));
  else notify(`${visible(conflict.path)}: ${conflict.message}`, { kind: "error" });
  await thread.sync();
}

function useChatCommands(isFinding: boolean, setFinding: (isFinding: boolean) => void): void {
  const { t } = useTranslation();
  const thread = useOpenThread();
  useCommands(
    useMemo(
      (): Command[] =>
        thread.isPast
          ? []
          : [
              { id: "edit-last", group: "here", label: t("keys.last"), keys: "e", run: editLast },
              {
                id: "undo-newest",
                group: "here",
                label: t("keys.undo"),
                keys: "u",
                run: () => void undoNewest(thread).catch(notifyError),
              },
              {
                id: "stop",
                group: "here",
                label: t("chat.stop"),
                keys: "mod+.",
                run: () => void thread.stop().catch(notifyError),
              },
              // Once it is open the key is the field's own.
              ...(isFinding
                ? []
                : [
                    {
                      id: "find",
                      group: "here" as const,
                      label: t("find.title"),
                      keys: "mod+f",
                      run: () => setFinding(true),
                    },
                  ]),
            ],
      [t, thread, isFinding, setFinding],
    ),
  );
}
