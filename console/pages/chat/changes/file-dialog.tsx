import FileX from "icon:file-x";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { FileContent } from "../../../api/file-content.ts";
import { readContent, saveFile } from "../../../api/operations.ts";
import { CodeBlock } from "../../../markdown/code.tsx";
import { visible } from "../../../markdown/links.ts";
import type { Operation } from "../../../api/shapes.ts";
import { Button } from "../../../parts/button.tsx";
import { Dialog } from "../../../parts/dialog.tsx";
import { Empty, Failed, Loading } from "../../../parts/states.tsx";
import { notifyError } from "../../../parts/toast.tsx";
import { separatorOf } from "../../../run/separated.ts";
import { Picture } from "../picture.tsx";
import { FileTable } from "./file-table.tsx";

/** The whole of a file before and after a change. */
export function FileDialog({
  threadId,
  operation,
  onClose,
}: {
  threadId: string;
  operation: Operation;
  onClose: () => void;
}) {
  const { t } = useTranslation();
  const [side, setSide] = useState<"before" | "after">(operation.type === "delete" ? "before" : "after");
  const none = noneOn(operation.type, side);
  const read = useQuery({
    queryKey: ["content", threadId, operation.operation_id, side],
    queryFn: ({ signal }) => readContent(threadId, operation.operation_id, side, signal),
    enabled: none === undefined,
  });
  const sides = { before: t("operation.before"), after: t("operation.after") };
  return (
    <Dialog title={visible(operation.path)} onClose={onClose} size="wide">
      <div className="dialog-body">
        <div className="segments" role="group" aria-label={t("operation.viewFile")}>
          {(["before", "after"] as const).map((one) => (
            <button key={one} type="button" aria-pressed={one === side} onClick={() => setSide(one)}>
              {sides[one]}
            </button>
          ))}
        </div>
        {none === undefined ? (
          <FileView
            path={operation.path}
            read={read}
            gone={{ title: t("operation.contentLost"), hint: t("operation.contentLostHint") }}
          />
        ) : (
          <Empty title={t(`operation.${none}`)} />
        )}
      </div>
    </Dialog>
  );
}

/** Why a side of a change has no file, or none of its own. */
function noneOn(type: Operation["type"], side: "before" | "after") {
  if (type === "move") return "moved";
  if (type === "create" && side === "before") return "noneBefore";
  return type === "delete" && side === "after" ? "noneAfter" : undefined;
}

/** What a file holds, as far as it can be shown; what cannot be is downloaded, where it lies in the workspace. */
export function FileView({
  path,
  read: { data, error, isPending, refetch },
  gone,
  isThere = false,
}: {
  path: string;
  /** Whether it is the file as it lies in the workspace. */
  isThere?: boolean;
  read: { data?: FileContent | undefined; error: Error | null; isPending: boolean; refetch: () => unknown };
  gone: { title: string; hint: string };
}) {
  const { t } = useTranslation();
  return (
    <>
      {isPending && <Loading lines={6} />}
      {error !== null && <Failed error={error} onRetry={() => void refetch()} gone={gone} />}
      {data?.kind === "text" && <TextView path={path} text={data.text} />}
      {data?.kind === "picture" && <Picture blob={data.blob} name={path} />}
      {data?.kind === "bytes" && !isThere && <Empty title={t("operation.noText")} />}
      {data?.kind === "bytes" && isThere && (
        <Empty icon={<FileX />} title={t("operation.noText")} hint={t("operation.noTextHint")}>
          <Button onClick={() => void saveFile(path).catch(notifyError)}>{t("operation.download")}</Button>
        </Empty>
      )}
    </>
  );
}

/** A text; one of separated values is a table, too. */
function TextView({ path, text }: { path: string; text: string }) {
  const { t } = useTranslation();
  const isTable = separatorOf(path) !== undefined && text.trim() !== "";
  const [shown, setShown] = useState<"table" | "text">("table");
  const names = { table: t("operation.asTable"), text: t("operation.asText") };
  return (
    <>
      {isTable && (
        <div>
          <div className="segments" role="group" aria-label={t("operation.shownAs")}>
            {(["table", "text"] as const).map((one) => (
              <button key={one} type="button" aria-pressed={one === shown} onClick={() => setShown(one)}>
                {names[one]}
              </button>
            ))}
          </div>
        </div>
      )}
      {isTable && shown === "table" ? (
        <FileTable path={path} text={text} />
      ) : (
        <CodeBlock text={visible(text)} language={path.split(".").at(-1) ?? ""} isOpen={false} />
      )}
    </>
  );
}
