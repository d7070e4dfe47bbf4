import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useLocation } from "wouter";
import * as z from "zod/mini";
import { writeItem } from "../../api/shaping/store.ts";
import { storeAddress } from "../../app/addresses.ts";
import { JsonInput } from "../../form/fields.tsx";
import { manage } from "../../text/manage/words.ts";
import { CreateDialog, TextField } from "../forms/create-dialog.tsx";
import { EndField, minutesOf } from "./end-field.tsx";
import { ItemValue } from "./item-view.tsx";
import { labelsOf } from "./namespaces.ts";

/** An item that is not there yet, in the namespace that is shown or another one. */
export function NewItem({ namespace, onClose }: { namespace: readonly string[]; onClose: () => void }) {
  const { t } = useTranslation(manage);
  const [, navigate] = useLocation();
  const [place, setPlace] = useState(namespace.join("."));
  const [key, setKey] = useState("");
  const [value, setValue] = useState<unknown>({});
  const [ends, setEnds] = useState("");
  const [wrong, setWrong] = useState<string>();
  const labels = labelsOf(place);
  const written = z.safeParse(ItemValue, value);
  const minutes = minutesOf(ends);
  const isWhole =
    labels !== undefined && key.trim() !== "" && wrong === undefined && written.success && minutes !== undefined;
  const make = async () => {
    if (labels === undefined || !written.success || minutes === undefined) return;
    await writeItem({ namespace: [...labels], key: key.trim() }, written.data, minutes ?? undefined);
    navigate(storeAddress(labels, key.trim()));
  };
  return (
    <CreateDialog title={t("store.add")} isWhole={isWhole} make={make} onClose={onClose}>
      <TextField label={t("store.namespace")} placeholder="users.ada" value={place} onValue={setPlace} />
      <TextField label={t("store.key")} value={key} onValue={setKey} />
      <JsonInput
        label={t("store.value")}
        rows={6}
        value={value}
        onValue={(next, said) => {
          setWrong(said);
          setValue(next);
        }}
      />
      {wrong === undefined && !written.success && <p className="problem">{t("store.noObject")}</p>}
      <EndField written={ends} empty={t("store.asUsual")} onWritten={setEnds} />
    </CreateDialog>
  );
}
