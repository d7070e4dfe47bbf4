import { useTranslation } from "react-i18next";
import { Button } from "../../parts/button.tsx";
import { notifyError } from "../../parts/toast.tsx";
import { manage } from "../../text/manage/words.ts";

/** Discards or saves what was written. */
export function DraftButtons({
  isDirty,
  maySave,
  onDrop,
  save,
}: {
  isDirty: boolean;
  maySave: boolean;
  onDrop: () => void;
  save: () => Promise<void>;
}) {
  const { t } = useTranslation(manage);
  return (
    <>
      <Button size="small" disabled={!isDirty} onClick={onDrop}>
        {t("prompts.discard")}
      </Button>
      <Button size="small" kind="primary" disabled={!maySave} onClick={() => save().catch(notifyError)}>
        {t("prompts.save")}
      </Button>
    </>
  );
}
