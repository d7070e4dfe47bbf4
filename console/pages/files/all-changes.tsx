import FilePenLine from "icon:file-pen-line";
import { useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { readFilesAgain, useAllChanges, type Change } from "../../api/files.ts";
import { runAddress, threadAddress } from "../../app/addresses.ts";
import { Button } from "../../parts/button.tsx";
import { Empty, Failed, Loading, NextPage } from "../../parts/states.tsx";
import { manage } from "../../text/manage/words.ts";
import { Ago } from "../../parts/values/ago.tsx";
import { ChangesContext } from "../chat/changes/changes-place.tsx";
import { ConfirmUndo } from "../chat/changes/confirm-undo.tsx";
import { OperationCard } from "../chat/changes/operation-card.tsx";
import { PlaceLink } from "../place-link.tsx";

/** What tools have changed in all chats, by the run in which they did. */
export function AllChanges() {
  const { t } = useTranslation(manage);
  const query = useAllChanges();
  const { data, error, refetch } = query;
  if (data === undefined) {
    return error === null ? <Loading lines={8} /> : <Failed error={error} onRetry={() => void refetch()} />;
  }
  const changes = data.pages.flatMap((page) => page.changes);
  if (changes.length === 0) {
    return <Empty icon={<FilePenLine />} title={t("files.noChanges")} hint={t("files.noChangesHint")} />;
  }
  const runs = Map.groupBy(changes, ({ thread_id, run_id }) => `${thread_id} ${run_id}`);
  return (
    <div className="shaping-view">
      {[...runs].map(([key, own]) => (
        <RunChanges key={key} changes={own} />
      ))}
      <NextPage query={query} label={t("files.older")} />
    </div>
  );
}

function RunChanges({ changes }: { changes: readonly Change[] }) {
  const { t } = useTranslation(manage);
  const [isAsked, setAsked] = useState(false);
  const [newest] = changes;
  const id = newest?.thread_id ?? "";
  const place = useMemo(() => ({ id, operations: changes, sync: readFilesAgain }), [id, changes]);
  if (newest === undefined) return null;
  const { run_id, created_at } = newest;
  const isOfRun = run_id !== "" && run_id !== newest.message_id;
  const canUndo = changes.some(({ can_undo, status }) => can_undo && status !== "undone");
  return (
    // No landmark: two runs may have begun in the same second, and landmarks need names of their own.
    <div className="prompt-part">
      <div className="row-between">
        <h2>
          <Ago at={created_at} />
          <PlaceLink address={threadAddress(id)}>{t("files.toChat")}</PlaceLink>
          {isOfRun && <PlaceLink address={runAddress(id, run_id)}>{t("files.toRun")}</PlaceLink>}
        </h2>
        {canUndo && run_id !== "" && (
          <Button size="small" kind="quiet" onClick={() => setAsked(true)}>
            {t("files.undoRun")}
          </Button>
        )}
      </div>
      <ChangesContext value={place}>
        {changes.map((change) => (
          <OperationCard key={change.operation_id} operation={change} />
        ))}
        {isAsked && <ConfirmUndo operations={[]} what={{ run_id }} onClose={() => setAsked(false)} />}
      </ChangesContext>
    </div>
  );
}
