import type { TFunction } from "i18next";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { StoredKey } from "../../api/shaping/models.ts";
import { Button } from "../../parts/button.tsx";
import { notify, notifyError } from "../../parts/toast.tsx";
import { manage } from "../../text/manage/words.ts";
import { DeleteButton } from "./delete-button.tsx";
import { TextField } from "./create-dialog.tsx";

/** Whether a key is set, and where. */
export function keyState(t: TFunction<"manage">, { is_set, source, shown }: StoredKey): string {
  if (!is_set) return t("models.keyMissing");
  return `${t(source === "file" ? "models.keyOfFile" : "models.keyOfEnvironment")} ${shown ?? ""}`;
}

/** A key is written and never read again; without one `write` forgets what was stored. `isWanted`: see `TextField`. */
export function KeyForm({
  isStored,
  isWanted = false,
  write,
}: {
  isStored: boolean;
  isWanted?: boolean;
  write: (key?: string) => Promise<void>;
}) {
  const { t } = useTranslation(manage);
  const [key, setKey] = useState("");
  const save = async () => {
    await write(key.trim());
    setKey((now) => (now === key ? "" : now));
    notify(t("models.keySaved"));
  };
  return (
    <form
      className="shaping-form"
      aria-label={t("models.setKey")}
      onSubmit={(event) => {
        event.preventDefault();
        if (key.trim() !== "") void save().catch(notifyError);
      }}
    >
      <TextField
        label={t(isStored ? "models.newKey" : "models.setKey")}
        type="password"
        value={key}
        onValue={setKey}
        isWanted={isWanted}
      />
      <p className="hint">{t("model.keyHint")}</p>
      <div className="row-end">
        {isStored && (
          <DeleteButton label={t("models.forgetKey")} hint={t("models.forgetKeyHint")} run={() => write()} />
        )}
        <Button size="small" kind="primary" type="submit" disabled={key.trim() === ""}>
          {t("models.saveKey")}
        </Button>
      </div>
    </form>
  );
}
