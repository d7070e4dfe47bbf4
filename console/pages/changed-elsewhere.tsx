import { useMemo } from "react";
import { useTranslation } from "react-i18next";
import { Button } from "../parts/button.tsx";
import { DiffLines } from "../parts/diff.tsx";
import { diffOf } from "../run/state-diff.ts";
import { manage } from "../text/manage/words.ts";

/** Says that what is written has changed elsewhere since the writing began, and asks which of both counts. */
export function ChangedElsewhere({
  isGone,
  mayKeep,
  onKeep,
  onTake,
  texts,
}: {
  /** It was not changed, but deleted. */
  isGone: boolean;
  mayKeep: boolean;
  onKeep: () => unknown;
  onTake: () => void;
  /** What is there now, and what was written here. */
  texts: { theirs: string; mine: string } | undefined;
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
          {t(isGone ? "edit.discardMine" : "edit.takeTheirs")}
        </Button>
      </div>
      {texts !== undefined && <BothTexts {...texts} />}
    </div>
  );
}

function BothTexts({ theirs, mine }: { theirs: string; mine: string }) {
  const { t } = useTranslation(manage);
  const lines = useMemo(() => diffOf(theirs.split("\n"), mine.split("\n")), [theirs, mine]);
  return (
    <>
      <p className="hint">{t(lines.length === 0 ? "edit.sameTexts" : "edit.bothTexts")}</p>
      {lines.length > 0 && <DiffLines lines={lines} />}
    </>
  );
}
