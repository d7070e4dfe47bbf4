import Archive from "icon:archive";
import Download from "icon:download";
import Eye from "icon:eye";
import GitFork from "icon:git-fork";
import Link from "icon:link";
import MoreHorizontal from "icon:ellipsis";
import Pencil from "icon:pencil";
import Pin from "icon:pin";
import Trash from "icon:trash-2";
import type { TFunction } from "i18next";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useLocation } from "wouter";
import { foundAddress, threadAddress } from "../../app/addresses.ts";
import { exportThread, forkThread, markThread, renameThread, type ExportFormat } from "../../api/threads.ts";
import type { ThreadInfo } from "../../api/shapes.ts";
import { plainLine } from "../../markdown/plain-line.ts";
import { loadable } from "../../parts/loadable.ts";
import { Menu } from "../../parts/menu.tsx";
import { notify, notifyError } from "../../parts/toast.tsx";
import { Ago } from "../../parts/values/ago.tsx";
import { deleteSoon } from "../delete-soon.ts";
import { focusAtFirst } from "../../parts/focus.ts";

/** What stands below the name of a thread: where it was found, or its last words, where it is not called by them. */
export function wordsBelow({ hits, name, preview, last_words }: ThreadInfo): boolean {
  return hits?.[0] !== undefined || (last_words !== "" && last_words !== (name === "" ? preview : name));
}

const previews = loadable(() => import("./thread-preview.tsx"));

/** One thread of the list, with what can be done to it. */
export function ThreadRow({
  thread,
  isCurrent,
  isStop,
  search,
  onOpen,
}: {
  thread: ThreadInfo;
  isCurrent: boolean;
  /** Whether Tab stops here. */
  isStop: boolean;
  /** What of the address stays: the filter of the list. */
  search: string;
  onOpen: () => void;
}) {
  const { t } = useTranslation();
  const [, navigate] = useLocation();
  const [isNaming, setNaming] = useState(false);
  const { thread_id: id, name, status } = thread;
  const isUnread = thread.unread_since !== null && status === "idle" && !isCurrent;
  const [isPreviewed, setPreviewed] = useState(false);
  const preview = previews.useModule(isPreviewed);
  const address = foundAddress(thread, search);
  const remove = () => {
    deleteSoon(id, { text: t("threads.deleted", { name }), takeBack: t("threads.takeBack") });
    if (isCurrent) navigate("/");
  };
  const open = () => {
    navigate(address);
    onOpen();
  };
  if (isNaming)
    return (
      <NameField
        name={name}
        onDone={(value) => {
          setNaming(false);
          if (value !== undefined && value !== name) attempt(renameThread(id, value));
        }}
      />
    );
  return (
    <div
      className="thread-row"
      data-current={isCurrent || undefined}
      data-status={status}
      data-brief={!wordsBelow(thread) || undefined}
    >
      <a
        className="thread-link"
        tabIndex={isStop ? 0 : -1}
        href={`/console${address}`}
        aria-current={isCurrent ? "page" : undefined}
        onClick={(event) => {
          if (event.metaKey || event.ctrlKey || event.shiftKey) return;
          event.preventDefault();
          open();
        }}
        onKeyDown={(event) => {
          if (event.key === " ") {
            event.preventDefault();
            setPreviewed(true);
          }
          if (event.key === "e" || event.key === "F2") {
            event.preventDefault();
            setNaming(true);
          }
        }}
      >
        <span className="thread-name">
          {status !== "idle" && <i className="status-dot" data-status={status} title={statusWords(t, status)} />}
          {isUnread && <i className="status-dot" data-status="unread" role="img" aria-label={t("threads.unread")} />}
          <span>{name === "" ? thread.preview : name}</span>
        </span>
        <Words thread={thread} />
      </a>
      <Ago at={thread.updated_at} className="thread-time" />
      <RowMenu
        thread={thread}
        isStop={isStop}
        onPreview={() => setPreviewed(true)}
        onRename={() => setNaming(true)}
        onDelete={remove}
      />
      {preview && (
        <preview.ThreadPreview
          thread={thread}
          onClose={() => setPreviewed(false)}
          onOpen={open}
          onExport={() => attempt(exportThread(thread, "markdown"))}
          onDelete={remove}
        />
      )}
    </div>
  );
}

/** What can be done with a thread of the list. */
function RowMenu({
  thread,
  isStop,
  onPreview,
  onRename,
  onDelete,
}: {
  thread: ThreadInfo;
  isStop: boolean;
  onPreview: () => void;
  onRename: () => void;
  onDelete: () => void;
}) {
  const { t } = useTranslation();
  const [, navigate] = useLocation();
  const { thread_id: id, name, pinned, archived } = thread;
  const exportAs = (format: ExportFormat) => () => attempt(exportThread(thread, format));
  return (
    <Menu
      label={t("threads.actions", { name })}
      className="icon-button thread-menu"
      isStop={isStop}
      button={<MoreHorizontal size={16} />}
      entries={[
        {
          label: t("threads.preview"),
          icon: <Eye size={16} />,
          shortcut: "␣",
          onSelect: onPreview,
        },
        { label: t("threads.rename"), icon: <Pencil size={16} />, shortcut: "e", onSelect: onRename },
        {
          label: pinned ? t("threads.unpin") : t("threads.pin"),
          icon: <Pin size={16} />,
          onSelect: () => attempt(markThread(id, { pinned: !pinned })),
        },
        {
          label: archived ? t("threads.unarchive") : t("threads.archive"),
          icon: <Archive size={16} />,
          onSelect: () => attempt(markThread(id, { archived: !archived })),
        },
        {
          label: t("threads.fork"),
          icon: <GitFork size={16} />,
          onSelect: () => attempt(forkThread(id).then((fork) => navigate(threadAddress(fork)))),
        },
        {
          label: t("threads.copyLink"),
          icon: <Link size={16} />,
          onSelect: () => attempt(copyText(`${location.origin}/console${threadAddress(id)}`, t("app.copied"))),
        },
        "line",
        { label: t("threads.exportMarkdown"), icon: <Download size={16} />, onSelect: exportAs("markdown") },
        { label: t("threads.exportJson"), icon: <Download size={16} />, onSelect: exportAs("json") },
        { label: t("threads.exportText"), icon: <Download size={16} />, onSelect: exportAs("text") },
        "line",
        {
          label: t("threads.delete"),
          icon: <Trash size={16} />,
          danger: true,
          onSelect: onDelete,
        },
      ]}
    />
  );
}

function attempt(action: Promise<unknown>): void {
  void action.catch(notifyError);
}

/** Where something was found in a thread, or its last words. */
function Words({ thread }: { thread: ThreadInfo }) {
  const hit = thread.hits?.[0];
  if (!wordsBelow(thread)) return null;
  if (hit === undefined) return <span className="thread-words">{plainLine(thread.last_words)}</span>;
  return (
    <span className="thread-words">
      {plainLine(hit.before ?? "")}
      <mark>{hit.match}</mark>
      {plainLine(hit.after ?? "")}
    </span>
  );
}

function NameField({ name, onDone }: { name: string; onDone: (name: string | undefined) => void }) {
  const { t } = useTranslation();
  return (
    <input
      className="input thread-name-field"
      aria-label={t("threads.name")}
      defaultValue={name}
      ref={focusAtFirst}
      onFocus={(event) => event.target.select()}
      onBlur={(event) => onDone(event.target.value)}
      onKeyDown={(event) => {
        if (event.nativeEvent.isComposing) return;
        if (event.key === "Enter") onDone(event.currentTarget.value);
        if (event.key === "Escape") onDone(undefined);
      }}
    />
  );
}

/** Puts a text on the clipboard and says so. */
async function copyText(text: string, message: string): Promise<void> {
  await navigator.clipboard.writeText(text);
  notify(message, { milliseconds: 1_500 });
}

function statusWords(t: TFunction, status: ThreadInfo["status"]): string {
  const words = {
    idle: t("threads.statusIdle"),
    busy: t("threads.statusBusy"),
    interrupted: t("threads.statusInterrupted"),
    error: t("threads.statusError"),
  };
  return words[status];
}
