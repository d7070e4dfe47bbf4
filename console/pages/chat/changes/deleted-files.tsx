import File from "icon:file";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { readDeleted, useDeleted } from "../../../api/operations.ts";
import type { Operation } from "../../../api/shapes.ts";
import { visible } from "../../../markdown/links.ts";
import { Dialog } from "../../../parts/dialog.tsx";
import { Failed, Loading } from "../../../parts/states.tsx";
import { byteSize } from "../../../text/time.ts";
import { useChangesPlace } from "./changes-place.tsx";
import { FileView } from "./file-dialog.tsx";

/** Files that are listed at first, and added with each click. */
const pageSize = 50;

/** The files of a folder that was deleted, each to be opened. */
export function DeletedFiles({ operation: { operation_id: id, path } }: { operation: Operation }) {
  const { t } = useTranslation();
  const { id: threadId } = useChangesPlace();
  const { data, error, isPending, refetch } = useDeleted(threadId, id);
  const [shownCount, setShownCount] = useState(pageSize);
  const [opened, setOpened] = useState<string>();
  const files = data?.filter(({ kind }) => kind !== "folder") ?? [];
  return (
    <>
      {isPending && <Loading lines={2} />}
      {error !== null && <Failed error={error} onRetry={() => void refetch()} />}
      {data !== undefined && <p className="hint">{t("operation.deletedFiles", { count: files.length })}</p>}
      {files.slice(0, shownCount).map(({ path: file, kind, size }) => (
        <button
          key={file}
          type="button"
          className="operation-open"
          disabled={kind !== "file"}
          onClick={() => setOpened(file)}
        >
          <File size={16} />
          <span className="operation-path">{visible(file)}</span>
          {size !== null && <span className="tool-time">{byteSize(size)}</span>}
        </button>
      ))}
      {files.length > shownCount && (
        <button type="button" className="code-more" onClick={() => setShownCount(shownCount + pageSize)}>
          +{files.length - shownCount}
        </button>
      )}
      {opened !== undefined && (
        <DeletedFile
          path={`${path}/${opened}`}
          place={{ threadId, id, file: opened }}
          onClose={() => setOpened(undefined)}
        />
      )}
    </>
  );
}

function DeletedFile({
  path,
  place: { threadId, id, file },
  onClose,
}: {
  path: string;
  place: { threadId: string; id: string; file: string };
  onClose: () => void;
}) {
  const { t } = useTranslation();
  const read = useQuery({
    queryKey: ["deleted", threadId, id, file],
    queryFn: ({ signal }) => readDeleted(threadId, id, file, signal),
  });
  return (
    <Dialog title={visible(path)} onClose={onClose} size="wide">
      <div className="dialog-body">
        <FileView
          path={path}
          read={read}
          gone={{ title: t("operation.contentLost"), hint: t("operation.contentLostHint") }}
        />
      </div>
    </Dialog>
  );
}
