import { useMemo } from "react";
import { useTranslation } from "react-i18next";
import { readFilesAgain, type Change } from "../../api/files.ts";
import { runAddress, threadAddress } from "../../app/addresses.ts";
import { manage } from "../../text/manage/words.ts";
import { Ago } from "../../parts/values/ago.tsx";
import { ChangesContext } from "../chat/changes/changes-place.tsx";
import { OperationCard } from "../chat/changes/operation-card.tsx";
import { PlaceLink } from "../place-link.tsx";

/** A change of a file, where it was made, and its way back. `all`: what the page knows besides. */
export function ChangeRow({ change, all }: { change: Change; all: readonly Change[] }) {
  const { t } = useTranslation(manage);
  const { thread_id: id } = change;
  const place = useMemo(
    () => ({ id, operations: all.filter(({ thread_id }) => thread_id === id), sync: readFilesAgain }),
    [id, all],
  );
  return (
    <div className="change-row">
      <p className="hint">
        <Ago at={change.created_at} />
        <PlaceLink address={threadAddress(id)}>{t("files.toChat")}</PlaceLink>
        {change.run_id !== "" && change.run_id !== change.message_id && (
          <PlaceLink address={runAddress(id, change.run_id)}>{t("files.toRun")}</PlaceLink>
        )}
      </p>
      <ChangesContext value={place}>
        <OperationCard operation={change} />
      </ChangesContext>
    </div>
  );
}
