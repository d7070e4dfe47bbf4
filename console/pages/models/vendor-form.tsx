import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useLocation } from "wouter";
import { setVendor, type Provider } from "../../api/shaping/models.ts";
import { vendorAddress } from "../../app/addresses.ts";
import { Button } from "../../parts/button.tsx";
import { notify, notifyError } from "../../parts/toast.tsx";
import { manage } from "../../text/manage/words.ts";
import { CreateDialog, TextField } from "../forms/create-dialog.tsx";

/** Where a vendor is reached. */
export function VendorForm({ vendor, onClose }: { vendor: Provider; onClose: () => void }) {
  const { t } = useTranslation(manage);
  const [address, setAddress] = useState(vendor.base_url ?? "");
  const save = async () => {
    const key = vendor.is_built_in ? undefined : vendor.key?.name;
    await setVendor(vendor.name, { base_url: address.trim(), ...(key !== undefined && { key }) });
    notify(t("models.addressSaved"));
    onClose();
  };
  return (
    <form
      className="shaping-form"
      aria-label={t("models.changeAddress")}
      onSubmit={(event) => {
        event.preventDefault();
        void save().catch(notifyError);
      }}
    >
      <TextField label={t("models.address")} type="url" value={address} onValue={setAddress} />
      <p className="hint">{t("models.addressHint")}</p>
      <div className="row-end">
        <Button size="small" onClick={onClose}>
          {t("prompts.discard")}
        </Button>
        <Button size="small" kind="primary" type="submit" disabled={!URL.canParse(address.trim())}>
          {t("prompts.save")}
        </Button>
      </div>
    </form>
  );
}

/** A vendor that is not built in: any server that speaks OpenAI's protocol. */
export function AddVendor({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation(manage);
  const [, navigate] = useLocation();
  const [name, setName] = useState("");
  const [address, setAddress] = useState("");
  const [key, setKey] = useState("");
  const isWhole = /^[a-z][a-z0-9-]{0,31}$/u.test(name) && URL.canParse(address.trim());
  const make = async () => {
    await setVendor(name, { base_url: address.trim(), ...(key.trim() !== "" && { key: key.trim() }) });
    navigate(vendorAddress(name));
  };
  return (
    <CreateDialog title={t("models.addVendor")} isWhole={isWhole} make={make} onClose={onClose}>
      <p className="hint">{t("models.addVendorHint")}</p>
      <TextField label={t("models.vendorName")} placeholder="lm-studio" value={name} onValue={setName} />
      <TextField
        label={t("models.address")}
        type="url"
        placeholder="http://127.0.0.1:1234/v1"
        value={address}
        onValue={setAddress}
      />
      <TextField label={t("models.keyNameOptional")} placeholder="LM_STUDIO_API_KEY" value={key} onValue={setKey} />
    </CreateDialog>
  );
}
