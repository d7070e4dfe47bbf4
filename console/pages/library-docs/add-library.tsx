import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useLocation } from "wouter";
import { addLibrary } from "../../api/shaping/library-docs.ts";
import { libraryAddress } from "../../app/addresses.ts";
import { manage } from "../../text/manage/words.ts";
import { CreateDialog, TextField } from "../forms/create-dialog.tsx";

/** A library that is to be read about, too. */
export function AddLibrary({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation(manage);
  const [, navigate] = useLocation();
  const [name, setName] = useState("");
  const make = async () => {
    await addLibrary(name.trim());
    navigate(libraryAddress());
  };
  return (
    <CreateDialog
      title={t("libraries.add")}
      busy={t("libraries.fetching")}
      isWhole={name.trim() !== ""}
      make={make}
      onClose={onClose}
    >
      <TextField label={t("libraries.name")} value={name} onValue={setName} />
      <p className="hint">{t("libraries.addHint")}</p>
    </CreateDialog>
  );
}
