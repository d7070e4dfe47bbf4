import { useQuery } from "@tanstack/react-query";
import Download from "icon:download";
import { useTranslation } from "react-i18next";
import { useAllChanges } from "../../api/files.ts";
import { readFileOf, saveFile } from "../../api/operations.ts";
import { CopyButton } from "../../markdown/code.tsx";
import { visible } from "../../markdown/links.ts";
import { Button, IconButton } from "../../parts/button.tsx";
import { Failed, Loading } from "../../parts/states.tsx";
import { notifyError } from "../../parts/toast.tsx";
import { manage } from "../../text/manage/words.ts";
import { FileView } from "../chat/changes/file-dialog.tsx";
import { ChangeRow } from "./change-row.tsx";

/** A file as it is now, and what tools have done to it in all chats. */
export function OneFile({ path }: { path: string }) {
  const { t } = useTranslation(manage);
  const read = useQuery({
    queryKey: ["file-now", path],
    queryFn: ({ signal }) => readFileOf(path, signal),
    retry: false,
  });
  return (
    <div className="shaping-view">
      <header className="prompt-head">
        <div>
          <h2>{visible(path.split("/").at(-1) ?? path)}</h2>
          <p className="hint mono">{visible(path)}</p>
        </div>
        <div className="filters">
          <CopyButton text={path} label={t("files.copyPath")} className="icon-button" />
          <IconButton label={t("files.save")} onClick={() => void saveFile(path).catch(notifyError)}>
            <Download size={16} />
          </IconButton>
        </div>
      </header>
      <FileView path={path} read={read} gone={{ title: t("files.gone"), hint: t("files.goneHint") }} />
      <History path={path} />
    </div>
  );
}

function History({ path }: { path: string }) {
  const { t } = useTranslation(manage);
  const { data, error, hasNextPage, fetchNextPage, isFetching, refetch } = useAllChanges(path);
  const changes = data?.pages.flatMap((page) => page.changes) ?? [];
  return (
    <section className="prompt-part" aria-label={t("files.history")}>
      <h2>{t("files.history")}</h2>
      {data === undefined && error === null && <Loading lines={3} />}
      {data === undefined && error !== null && <Failed error={error} onRetry={() => void refetch()} />}
      {data !== undefined && changes.length === 0 && <p className="hint">{t("files.noHistory")}</p>}
      {changes.map((change) => (
        <ChangeRow key={change.operation_id} change={change} all={changes} />
      ))}
      {hasNextPage && (
        <Button size="small" disabled={isFetching} onClick={() => void fetchNextPage()}>
          {t("files.older")}
        </Button>
      )}
    </section>
  );
}
