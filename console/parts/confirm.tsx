import { useState } from "react";
import { useTranslation } from "react-i18next";
import { Button } from "./button.tsx";
import { Dialog } from "./dialog.tsx";
import { notifyError } from "./toast.tsx";

/** Asks before something is done that has no way back. */
export function Confirm({
  title,
  hint,
  action,
  run,
  onClose,
}: {
  title: string;
  hint: string;
  /** The words of the button that does it. */
  action: string;
  run: () => Promise<void>;
  onClose: () => void;
}) {
  const { t } = useTranslation();
  const [isBusy, setBusy] = useState(false);
  const perform = async () => {
    setBusy(true);
    try {
      await run();
      onClose();
    } catch (error) {
      notifyError(error);
      setBusy(false);
    }
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <div className="dialog-body">
        <p>{hint}</p>
        <div className="row-end">
          <Button onClick={onClose}>{t("app.cancel")}</Button>
          <Button kind="danger" disabled={isBusy} onClick={() => void perform()}>
            {action}
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
