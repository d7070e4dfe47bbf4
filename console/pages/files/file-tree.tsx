import ChevronRight from "icon:chevron-right";
import FileText from "icon:file-text";
import Folder from "icon:folder";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useFolder } from "../../api/files.ts";
import { visible } from "../../markdown/links.ts";
import { Failed, Loading } from "../../parts/states.tsx";
import { rowsIn, type FileMarks, type TreeRow } from "../../run/file-marks.ts";
import { manage } from "../../text/manage/words.ts";
import { ListEntry } from "../list-and-one.tsx";

interface Choice {
  current: string | undefined;
  onOpen: (path: string) => void;
  /** What a chat has changed, if one is looked at. */
  marks?: FileMarks | undefined;
}

/** The files of the workspace; a folder is read when it is opened. */
export function FileTree(choice: Choice) {
  return <FolderEntries path="" {...choice} />;
}

function FolderEntries({ path, ...choice }: Choice & { path: string }) {
  const { t } = useTranslation(manage);
  const { data, error, refetch } = useFolder(path);
  if (data === undefined) {
    return error === null ? <Loading lines={4} /> : <Failed error={error} onRetry={() => void refetch()} />;
  }
  const rows = rowsIn(path, data.entries, choice.marks);
  if (rows.length === 0) return <p className="hint">{t("files.empty")}</p>;
  return (
    <ul className="file-tree" aria-label={path === "" ? t("files.files") : visible(path)}>
      {rows.map((row) => (
        <li key={row.name}>
          {row.kind === "folder" && !row.isGone ? (
            <FolderEntry entry={row} {...choice} />
          ) : (
            <ListEntry
              title={row.isGone ? <s>{visible(row.name)}</s> : visible(row.name)}
              icon={row.kind === "folder" ? <Folder size={15} /> : <FileText size={15} />}
              isHere={row.path === choice.current}
              chip={row.isGone ? t("files.deleted") : markOf(choice.marks?.files.get(row.path), t("files.changed"))}
              onOpen={() => choice.onOpen(row.path)}
            />
          )}
        </li>
      ))}
      {data.more > 0 && <li className="hint">{t("files.more", { count: data.more })}</li>}
    </ul>
  );
}

function FolderEntry({ entry: { name, path }, ...choice }: Choice & { entry: TreeRow }) {
  // Until it is chosen, a folder is open where what is shown lies in it.
  const holdsCurrent = choice.current?.startsWith(`${path}/`) === true;
  const { t } = useTranslation(manage);
  const [chosen, setOpen] = useState<boolean>();
  const isOpen = chosen ?? holdsCurrent;
  const changed = choice.marks?.folders.get(path);
  return (
    <>
      <button type="button" className="shaping-entry" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <ChevronRight size={14} className="chevron" />
        <Folder size={15} />
        <span>{visible(name)}</span>
        {changed !== undefined && <b className="chip">{t("files.changedCount", { count: changed })}</b>}
      </button>
      {isOpen && <FolderEntries path={path} {...choice} />}
    </>
  );
}

/** The lines that were added and removed, where they were counted. */
function markOf(mark: { added: number | null; removed: number | null } | undefined, changed: string) {
  if (mark === undefined) return undefined;
  const { added, removed } = mark;
  return added === null || removed === null ? changed : `+${added} −${removed}`;
}
