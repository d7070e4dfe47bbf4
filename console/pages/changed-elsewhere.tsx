import { useTranslation } from "react-i18next";
import { Button } from "../parts/button.tsx";
import { manage } from "../text/manage/words.ts";

/** Says that what is written has changed elsewhere since the writing began, and asks which of both counts. */
export function ChangedElsewhere({
  isGone,
  mayKeep,
  onKeep,
  onTake,
}: {
  /** It was not changed, but deleted. */
  isGone: boolean;
  mayKeep: boolean;
  onKeep: () => void;
  onTake: () => void;
}) {
  const { t } = useTranslation(manage);
  return (
    <div className="run-note changed-elsewhere" role="alert">
      <p>{t(isGone ? "edit.goneMeanwhile" : "edit.changedMeanwhile")}</p>
      <div className="filters">
        <Button size="small" disabled={!mayKeep} onClick={onKeep}>
          {t("edit.saveOver")}
        </Button>
        <Button size="small" kind="quiet" onClick={onTake}>
          {t(isGone ? "edit.letGo" : "edit.takeTheirs")}
        </Button>
      </div>
    </div>
  );
}
