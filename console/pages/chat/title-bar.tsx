import GitFork from "icon:git-fork";
import MoreHorizontal from "icon:ellipsis";
import Download from "icon:download";
import FileDiff from "icon:file-diff";
import Pencil from "icon:pencil";
import ScanText from "icon:scan-text";
import Search from "icon:search";
import Shrink from "icon:shrink";
import Trash from "icon:trash-2";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useLocation } from "wouter";
import { contextAddress, threadAddress } from "../../app/addresses.ts";
import type { ThreadDetails } from "../../api/shapes.ts";
import { compress } from "../../api/runs/runs.ts";
import { exportThread, forkThread, renameThread } from "../../api/threads.ts";
import { IconButton } from "../../parts/button.tsx";
import { Menu } from "../../parts/menu.tsx";
import { notifyError } from "../../parts/toast.tsx";
import { percent } from "../../text/time.ts";
import { deleteSoon } from "../delete-soon.ts";
import { ChangesDialog } from "./changes/changes-dialog.tsx";
import { useOpenThread, useSnapshot } from "./thread-context.tsx";
import { focusAtFirst } from "../../parts/focus.ts";

/** What the thread is called, how it is, and what can be done with the whole of it. */
export function TitleBar({ details, onFind }: { details: ThreadDetails | undefined; onFind: () => void }) {
  const { t } = useTranslation();
  const thread = useOpenThread();
  const [, navigate] = useLocation();
  const [isNaming, setNaming] = useState(false);
  const [showsChanges, setShowsChanges] = useState(false);
  const changes = useSnapshot(({ operations }) => operations.length);
  const name = details?.name ?? "";
  const rename = (value: string) => {
    setNaming(false);
    if (value.trim() !== name) renameThread(thread.id, value).catch(notifyError);
  };
  const shorten = () => {
    thread.expectRun();
    compress(thread.id)
      .catch(notifyError)
      .finally(() => void thread.sync());
  };
  return (
    <header className="title-bar">
      {isNaming ? (
        <input
          className="input title-field"
          aria-label={t("threads.name")}
          defaultValue={name}
          ref={focusAtFirst}
          onBlur={(event) => rename(event.target.value)}
          onKeyDown={(event) => {
            if (event.nativeEvent.isComposing) return;
            if (event.key === "Enter") rename(event.currentTarget.value);
            if (event.key === "Escape") setNaming(false);
          }}
        />
      ) : (
        <h1 className="title-name">
          <button type="button" onClick={() => setNaming(true)} title={t("threads.rename")}>
            {name === "" ? t("app.newThread") : name}
          </button>
        </h1>
      )}
      <Connection />
      <Usage onCompress={shorten} />
      {changes > 0 && (
        <IconButton className="changes-button" label={t("operation.changes")} onClick={() => setShowsChanges(true)}>
          <FileDiff size={18} />
        </IconButton>
      )}
      <Menu
        label={t("app.openMenu")}
        button={<MoreHorizontal size={18} />}
        entries={[
          { label: t("threads.rename"), icon: <Pencil size={16} />, onSelect: () => setNaming(true) },
          { label: t("find.title"), icon: <Search size={16} />, shortcut: "mod+f", onSelect: onFind },
          {
            label: t("threads.fork"),
            icon: <GitFork size={16} />,
            onSelect: () => void forkThread(thread.id).then((id) => navigate(threadAddress(id)), notifyError),
          },
          {
            label: t("threads.exportMarkdown"),
            icon: <Download size={16} />,
            onSelect: () => void exportThread({ thread_id: thread.id, name }, "markdown").catch(notifyError),
          },
          {
            label: t("chat.context"),
            icon: <ScanText size={16} />,
            onSelect: () => navigate(contextAddress(thread.id)),
          },
          { label: t("chat.compress"), icon: <Shrink size={16} />, onSelect: shorten },
          "line",
          {
            label: t("threads.delete"),
            icon: <Trash size={16} />,
            danger: true,
            onSelect: () => {
              deleteSoon(thread.id, { text: t("threads.deleted", { name }), takeBack: t("threads.takeBack") });
              navigate("/");
            },
          },
        ]}
      />
      {showsChanges && <ChangesDialog onClose={() => setShowsChanges(false)} />}
    </header>
  );
}

/** Says when the page does not hear of what happens. */
function Connection() {
  const { t } = useTranslation();
  const connection = useSnapshot((snapshot) => snapshot.connection);
  if (connection !== "lost") return null;
  return (
    <span className="connection" role="status">
      <i className="status-dot" data-status="lost" />
      {t("app.reconnecting")}
    </span>
  );
}

/** Shares of the window from which the bar warns. */
const warnsFrom = 0.6;
const fullFrom = 0.8;

/** How full the model's window is, and from where it warns a way to make room. */
function Usage({ onCompress }: { onCompress: () => void }) {
  const { t } = useTranslation();
  const usage = useSnapshot(({ thread }) => thread.usage);
  const isBusy = useSnapshot(({ thread }) => thread.isBusy);
  if (usage < 0.005) return null;
  const level = usage >= fullFrom ? "full" : usage >= warnsFrom ? "high" : "low";
  const label = t("chat.usage", { percent: percent(usage) });
  return (
    <>
      <span className="usage" data-level={level} title={label} role="img" aria-label={label}>
        <meter min={0} max={1} value={usage} />
        {percent(usage)}
      </span>
      {level !== "low" && (
        <IconButton label={t("chat.compress")} disabled={isBusy} onClick={onCompress}>
          <Shrink size={18} />
        </IconButton>
      )}
    </>
  );
}
