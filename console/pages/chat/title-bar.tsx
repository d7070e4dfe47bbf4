import GitFork from "icon:git-fork";
import Bot from "icon:bot";
import FolderTree from "icon:folder-tree";
import MoreHorizontal from "icon:ellipsis";
import Download from "icon:download";
import FileDiff from "icon:file-diff";
import Info from "icon:info";
import History from "icon:history";
import Pencil from "icon:pencil";
import ScanText from "icon:scan-text";
import Search from "icon:search";
import ShieldCheck from "icon:shield-check";
import Shrink from "icon:shrink";
import Trash from "icon:trash-2";
import { useMemo, useState, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { useLocation } from "wouter";
import { contextAddress, fileAddress, pastAddress, threadAddress } from "../../app/addresses.ts";
import { useCommands, type Command } from "../../app/commands.ts";
import type { ThreadDetails } from "../../api/shapes.ts";
import { compress, type Compression } from "../../api/runs/runs.ts";
import { exportThread, forkThread, renameThread } from "../../api/threads.ts";
import { GrantsDialog } from "../../parts/approval/grants.tsx";
import { IconButton } from "../../parts/button.tsx";
import { loadable } from "../../parts/loadable.ts";
import { Menu } from "../../parts/menu.tsx";
import { notifyError } from "../../parts/toast.tsx";
import { count, money, percent, shortCount } from "../../text/time.ts";
import { deleteSoon } from "../delete-soon.ts";
import { ChangesDialog } from "./changes/changes-dialog.tsx";
import { useOpenThread, useSnapshot } from "./thread-context.tsx";
import { focusAtFirst } from "../../parts/focus.ts";

const compressing = loadable(() => import("../context/compress-dialog.tsx"));
const lazyAgents = loadable(() => import("./about/agents-dialog.tsx"));
const lazyAbout = loadable(() => import("./about/about-dialog.tsx"));

/** What opens above a chat from its title bar. */
type Shown = "changes" | "grants" | "agents" | "compress" | "about";

/** What the thread is called, how it is, and what can be done with the whole of it. */
export function TitleBar({ details, onFind }: { details: ThreadDetails | undefined; onFind: () => void }) {
  const { t } = useTranslation();
  const thread = useOpenThread();
  const [isNaming, setNaming] = useState(false);
  const [shown, setShown] = useState<Shown>();
  const changes = useSnapshot(({ operations }) => operations.length);
  const name = details?.name ?? "";
  const rename = (value: string) => {
    setNaming(false);
    if (value.trim() !== name) renameThread(thread.id, value).catch(notifyError);
  };
  const commands = useThreadCommands(name, { rename: setNaming, show: setShown });
  useCommands(commands);
  const dialog = compressing.useModule(shown === "compress");
  const agents = lazyAgents.useModule(shown === "agents");
  const about = lazyAbout.useModule(shown === "about");
  const close = () => setShown(undefined);
  const shorten = async (how: Compression) => {
    try {
      await thread.expectRun(compress(thread.id, how));
    } finally {
      await thread.sync();
    }
  };
  const find = { label: t("find.title"), icon: <Search size={16} />, shortcut: "mod+f", onSelect: onFind };
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
      <Status />
      <Spent usage={details?.total_usage} />
      <Usage onCompress={() => setShown("compress")} />
      {changes > 0 && (
        <IconButton className="changes-button" label={t("operation.changes")} onClick={() => setShown("changes")}>
          <FileDiff size={18} />
        </IconButton>
      )}
      <Menu
        label={t("app.openMenu")}
        button={<MoreHorizontal size={18} />}
        entries={commands.flatMap(({ id, label, icon, run }) => [
          ...(id === "fork" ? [find] : []),
          ...(id === "delete" ? ["line" as const] : []),
          { label, icon, danger: id === "delete", onSelect: run },
        ])}
      />
      {shown === "changes" && <ChangesDialog onClose={close} />}
      {shown === "grants" && <GrantsDialog threadId={thread.id} onClose={close} />}
      {agents && <agents.AgentsDialog threadId={thread.id} onClose={close} />}
      {about && details && <about.AboutDialog details={details} onClose={close} />}
      {dialog && <dialog.CompressDialog threadId={thread.id} run={shorten} onClose={close} />}
    </header>
  );
}

/** What can be done with the whole of a thread: in its menu, in the palette, and behind a slash in the field. */
function useThreadCommands(
  name: string,
  { rename, show }: { rename: (isNow: boolean) => void; show: (dialog: Shown) => void },
): readonly Command[] {
  const { t } = useTranslation();
  const thread = useOpenThread();
  const [, navigate] = useLocation();
  return useMemo(() => {
    const { id } = thread;
    const remove = () => {
      deleteSoon(id, { text: t("threads.deleted", { name }), takeBack: t("threads.takeBack") });
      navigate("/");
    };
    const fork = () => void forkThread(id).then((copy) => navigate(threadAddress(copy)), notifyError);
    const save = () => void exportThread({ thread_id: id, name }, "markdown").catch(notifyError);
    const here = (command: string, label: string, icon: ReactNode, run: () => void): Command => {
      return { id: command, group: "here", label, icon, run };
    };
    return [
      here("rename", t("threads.rename"), <Pencil size={16} />, () => rename(true)),
      here("fork", t("threads.fork"), <GitFork size={16} />, fork),
      here("export", t("threads.exportMarkdown"), <Download size={16} />, save),
      here("context", t("chat.context"), <ScanText size={16} />, () => navigate(contextAddress(id))),
      { ...here("past", t("chat.lookBack"), <History size={16} />, () => navigate(pastAddress(id))), keys: "[" },
      here("changes", t("operation.changes"), <FileDiff size={16} />, () => show("changes")),
      here("allowed", t("approval.grants"), <ShieldCheck size={16} />, () => show("grants")),
      here("agents", t("agents.title"), <Bot size={16} />, () => show("agents")),
      here("files", t("chat.files"), <FolderTree size={16} />, () => navigate(fileAddress(undefined, id))),
      here("compress", t("chat.compress"), <Shrink size={16} />, () => show("compress")),
      here("about", t("about.title"), <Info size={16} />, () => show("about")),
      here("delete", t("threads.delete"), <Trash size={16} />, remove),
    ];
  }, [t, thread, navigate, name, rename, show]);
}

/** What the thread is doing, where it is not at rest. */
function Status() {
  const { t } = useTranslation();
  const status = useSnapshot(({ thread, approvals }) =>
    approvals.length > 0 ? "interrupted" : thread.isBusy ? "busy" : undefined,
  );
  if (status === undefined) return null;
  return (
    <span className="usage">
      <i className="status-dot" data-status={status} />
      {t(status === "busy" ? "threads.statusBusy" : "threads.statusInterrupted")}
    </span>
  );
}

/** What the models of the thread have used, and what that cost. */
function Spent({ usage }: { usage: ThreadDetails["total_usage"] | undefined }) {
  const { t } = useTranslation();
  const tokens = (usage?.input_tokens ?? 0) + (usage?.output_tokens ?? 0);
  if (usage === undefined || tokens === 0) return null;
  const input = count(usage.input_tokens);
  const label = t("chat.spent", { input, output: count(usage.output_tokens) });
  return (
    <span className="usage spent" title={label} role="img" aria-label={label}>
      {t("chat.tokens", { tokens: shortCount(tokens) })}
      {usage.cost !== null && ` · ${t("chat.cost", { cost: money(usage.cost) })}`}
    </span>
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
