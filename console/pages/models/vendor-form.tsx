import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useLocation } from "wouter";
import { setVendor, type Provider } from "../../api/shaping/models.ts";
import { vendorAddress } from "../../app/addresses.ts";
import { Button } from "../../parts/button.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { messageOf } from "../../parts/states.tsx";
import { notify, notifyError } from "../../parts/toast.tsx";
import { manage } from "../../text/manage/words.ts";

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
      <label className="field">
        <span>{t("models.address")}</span>
        <input
          className="input mono"
          type="url"
          spellCheck={false}
          value={address}
          onChange={({ target }) => setAddress(target.value)}
        />
      </label>
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
  const [problem, setProblem] = useState<string>();
  const isWhole = /^[a-z][a-z0-9-]{0,31}$/u.test(name) && URL.canParse(address.trim());
  const save = async () => {
    try {
      await setVendor(name, { base_url: address.trim(), ...(key.trim() !== "" && { key: key.trim() }) });
      onClose();
      navigate(vendorAddress(name));
    } catch (error) {
      setProblem(messageOf(error));
    }
  };
  return (
    <Dialog title={t("models.addVendor")} onClose={onClose}>
      <form
        className="dialog-body schema-form"
        onSubmit={(event) => {
          event.preventDefault();
          if (isWhole) void save();
        }}
      >
        <p className="hint">{t("models.addVendorHint")}</p>
        <label className="field">
          <span>{t("models.vendorName")}</span>
          <input
            className="input mono"
            placeholder="lm-studio"
            value={name}
            onChange={({ target }) => setName(target.value)}
          />
        </label>
        <label className="field">
          <span>{t("models.address")}</span>
          <input
            className="input mono"
            type="url"
            placeholder="http://127.0.0.1:1234/v1"
            value={address}
            onChange={({ target }) => setAddress(target.value)}
          />
        </label>
        <label className="field">
          <span>{t("models.keyNameOptional")}</span>
          <input
            className="input mono"
            placeholder="LM_STUDIO_API_KEY"
            value={key}
            onChange={({ target }) => setKey(target.value)}
          />
        </label>
        {problem !== undefined && (
          <p className="problem" role="alert">
            {problem}
          </p>
        )}
        <div className="row-end">
          <Button type="submit" kind="primary" disabled={!isWhole}>
            {t("models.addVendor")}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
