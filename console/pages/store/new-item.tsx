import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useLocation } from "wouter";
import * as z from "zod/mini";
import { writeItem } from "../../api/shaping/store.ts";
import { storeAddress } from "../../app/addresses.ts";
import { JsonInput } from "../../form/fields.tsx";
import { Button } from "../../parts/button.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { messageOf } from "../../parts/states.tsx";
import { manage } from "../../text/manage/words.ts";
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
  const [problem, setProblem] = useState<string>();
  const labels = labelsOf(place);
  const written = z.safeParse(ItemValue, value);
  const minutes = minutesOf(ends);
  const isWhole =
    labels !== undefined && key.trim() !== "" && wrong === undefined && written.success && minutes !== undefined;
  const save = async () => {
    if (labels === undefined || !written.success || minutes === undefined) return;
    try {
      await writeItem({ namespace: [...labels], key: key.trim() }, written.data, minutes ?? undefined);
      onClose();
      navigate(storeAddress(labels, key.trim()));
    } catch (error) {
      setProblem(messageOf(error));
    }
  };
  return (
    <Dialog title={t("store.add")} onClose={onClose}>
      <form
        className="dialog-body schema-form"
        onSubmit={(event) => {
          event.preventDefault();
          if (isWhole) void save();
        }}
      >
        <label className="field">
          <span>{t("store.namespace")}</span>
          <input
            className="input mono"
            placeholder="users.ada"
            value={place}
            onChange={({ target }) => setPlace(target.value)}
          />
        </label>
        <label className="field">
          <span>{t("store.key")}</span>
          <input className="input mono" value={key} onChange={({ target }) => setKey(target.value)} />
        </label>
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
        {problem !== undefined && (
          <p className="problem" role="alert">
            {problem}
          </p>
        )}
        <div className="row-end">
          <Button type="submit" kind="primary" disabled={!isWhole}>
            {t("store.add")}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
