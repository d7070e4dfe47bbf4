import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useLocation } from "wouter";
import { addLibrary } from "../../api/shaping/library-docs.ts";
import { libraryAddress } from "../../app/addresses.ts";
import { Button } from "../../parts/button.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { messageOf } from "../../parts/states.tsx";
import { manage } from "../../text/manage/words.ts";

/** A library that is to be read about, too. */
export function AddLibrary({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation(manage);
  const [, navigate] = useLocation();
  const [name, setName] = useState("");
  const [problem, setProblem] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const add = async () => {
    setBusy(true);
    try {
      await addLibrary(name.trim());
      onClose();
      navigate(libraryAddress());
    } catch (error) {
      setProblem(messageOf(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <Dialog title={t("libraries.add")} onClose={onClose}>
      <form
        className="dialog-body schema-form"
        onSubmit={(event) => {
          event.preventDefault();
          if (name.trim() !== "" && !isBusy) void add();
        }}
      >
        <label className="field">
          <span>{t("libraries.name")}</span>
          <input className="input mono" value={name} onChange={({ target }) => setName(target.value)} />
        </label>
        <p className="hint">{t("libraries.addHint")}</p>
        {problem !== undefined && (
          <p className="problem" role="alert">
            {problem}
          </p>
        )}
        <div className="row-end">
          <Button type="submit" kind="primary" disabled={name.trim() === "" || isBusy}>
            {t(isBusy ? "libraries.fetching" : "libraries.add")}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
