import File from "icon:file";
import FilePenLine from "icon:file-pen-line";
import FileSearch from "icon:file-search";
import FilePlus from "icon:file-plus";
import FileX from "icon:file-x";
import FileSymlink from "icon:file-symlink";
import Folder from "icon:folder";
import FolderPlus from "icon:folder-plus";
import FolderX from "icon:folder-x";
import Undo from "icon:undo-2";
import type { TFunction } from "i18next";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { undoHunk, undoTogether, useDiff, useIsFolder, type Conflict } from "../../../api/operations.ts";
import type { Operation } from "../../../api/shapes.ts";
import { CopyButton } from "../../../markdown/code.tsx";
import { visible } from "../../../markdown/links.ts";
import { Button, IconButton } from "../../../parts/button.tsx";
import { Diff, LineCounts } from "../../../parts/diff.tsx";
import { Failed, Loading } from "../../../parts/states.tsx";
import { notify, notifyError } from "../../../parts/toast.tsx";
import { ConfirmUndo } from "./confirm-undo.tsx";
import { DeletedFiles } from "./deleted-files.tsx";
import { FileDialog } from "./file-dialog.tsx";
import { useChangesPlace } from "./changes-place.tsx";

const icons = { create: FilePlus, modify: FilePenLine, delete: FileX, move: FileSymlink, edit: FilePenLine };
const folderIcons = { ...icons, create: FolderPlus, delete: FolderX };
const undoneIcons = { create: FileX, modify: File, delete: File, move: File, edit: File };
const undoneFolderIcons = { ...undoneIcons, create: FolderX, delete: Folder };
/** Operations of a message that are shown at once, and lines of a diff. */
const shownFirst = 5;
const firstLines = 20;
const allLines = 5_000;

/** What the calls of a message changed in the workspace, each with its way back. */
export function MessageOperations({ messageId }: { messageId: string }) {
  const { operations: all } = useChangesPlace();
  const [isWhole, setWhole] = useState(false);
  const own = all.filter(({ message_id }) => message_id === messageId).toReversed();
  if (own.length === 0) return null;
  const shown = isWhole ? own : own.slice(0, shownFirst);
  return (
    <div className="operations">
      {shown.map((operation) => (
        <OperationCard key={operation.operation_id} operation={operation} />
      ))}
      {shown.length < own.length && (
        <button type="button" className="code-more" onClick={() => setWhole(true)}>
          +{own.length - shown.length}
        </button>
      )}
    </div>
  );
}

/** One change of the workspace. */
export function OperationCard({ operation }: { operation: Operation }) {
  const { t } = useTranslation();
  const { id: threadId, sync } = useChangesPlace();
  const [isOpen, setOpen] = useState(false);
  const [isUndoing, setUndoing] = useState(false);
  const [showsFile, setShowsFile] = useState(false);
  const [conflicts, setConflicts] = useState<readonly Conflict[]>();
  const isUndone = operation.status === "undone";
  const isFolder = useIsFolder(threadId, operation);
  const undo = async () => {
    setUndoing(true);
    try {
      const { conflicts: found } = await undoTogether(threadId, [operation.operation_id]);
      if (found.length > 0) setConflicts(found);
      else await sync();
    } catch (error) {
      notifyError(error);
    } finally {
      setUndoing(false);
    }
  };
  return (
    <div role="group" className="operations-card" data-status={operation.status} aria-label={operation.summary}>
      <div className="operation-head">
        <button
          type="button"
          className="operation-open"
          aria-expanded={isOpen}
          onClick={() => setOpen(!isOpen)}
          title={t("operation.viewDiff")}
        >
          <OperationIcon operation={operation} isFolder={isFolder} />
          <span className="operation-path">{visible(operation.path)}</span>
          <LineCounts added={operation.lines_added} removed={operation.lines_removed} />
        </button>
        {isUndone && <span className="operation-undone">{undoneWords(t, operation, isFolder)}</span>}
        {!isUndone && operation.can_undo && (
          <Button size="small" kind="quiet" disabled={isUndoing} onClick={() => void undo()}>
            <Undo size={14} />
            {isUndoing ? t("operation.undoing") : t("operation.undo")}
          </Button>
        )}
        {!isFolder && (
          <IconButton label={t("operation.viewFile")} onClick={() => setShowsFile(true)}>
            <FileSearch size={15} />
          </IconButton>
        )}
        <CopyButton text={operation.path} label={t("operation.copyPath")} className="icon-button" />
      </div>
      {showsFile && <FileDialog threadId={threadId} operation={operation} onClose={() => setShowsFile(false)} />}
      {conflicts !== undefined && (
        <ConfirmUndo operations={[operation]} found={conflicts} onClose={() => setConflicts(undefined)} />
      )}
      {isOpen && isFolder && operation.type === "delete" && <DeletedFiles operation={operation} />}
      {isOpen && isFolder && operation.type !== "delete" && <p className="hint">{t("operation.folder")}</p>}
      {isOpen && !isFolder && <Differences operation={operation} />}
    </div>
  );
}

/** What an undo has come to. */
function undoneWords(t: TFunction, { type, old_path }: Operation, isFolder: boolean): string {
  if (type === "move") return t("operation.back.move", { path: visible(old_path ?? "") });
  if (type === "modify" || type === "edit") return t("operation.back.modify");
  return t(`operation.back.${type}${isFolder ? "Folder" : ""}`);
}

/** What was done; of what was taken back, what is there now. */
function OperationIcon({ operation: { type, status }, isFolder }: { operation: Operation; isFolder: boolean }) {
  const ofFiles = status === "undone" ? undoneIcons : icons;
  const ofFolders = status === "undone" ? undoneFolderIcons : folderIcons;
  const Icon = isFolder ? ofFolders[type] : ofFiles[type];
  return <Icon size={16} />;
}

/** The lines that differ, each hunk with its way back. */
function Differences({ operation }: { operation: Operation }) {
  const { t } = useTranslation();
  const { id: threadId, sync } = useChangesPlace();
  const [limit, setLimit] = useState(firstLines);
  const { data, error, isPending, refetch } = useDiff(threadId, operation.operation_id, limit);
  const takeHunkBack = async (hunk: number) => {
    try {
      await undoHunk(threadId, operation.operation_id, hunk);
      notify(t("operation.hunkUndone", { hunk }));
      await sync();
    } catch (error) {
      notifyError(error);
    }
  };
  const isFixed = operation.status === "undone" || !operation.can_undo;
  return (
    <>
      {isPending && <Loading lines={2} />}
      {error !== null && <Failed error={error} onRetry={() => void refetch()} />}
      {data !== undefined && <Diff diff={data} onUndo={isFixed ? undefined : takeHunkBack} />}
      {(data?.more ?? 0) > 0 && limit < allLines && (
        <button type="button" className="code-more" onClick={() => setLimit(allLines)}>
          {t("tool.showAll")}
        </button>
      )}
    </>
  );
}
