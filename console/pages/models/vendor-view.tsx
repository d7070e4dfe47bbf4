import type { TFunction } from "i18next";
import SearchX from "icon:search-x";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useLocation } from "wouter";
import { forgetVendor, setVendorKey, useProviders, type Provider } from "../../api/shaping/models.ts";
import { vendorAddress } from "../../app/addresses.ts";
import { visible } from "../../markdown/links.ts";
import { Button } from "../../parts/button.tsx";
import { Confirm } from "../../parts/confirm.tsx";
import { Empty, Failed, Loading } from "../../parts/states.tsx";
import { notify, notifyError } from "../../parts/toast.tsx";
import { manage } from "../../text/manage/words.ts";
import { longTime } from "../../text/time.ts";
import { Facts } from "../facts.tsx";
import { VendorForm } from "./vendor-form.tsx";

/** One vendor: where it is reached, whether it has its key, and both to be changed. */
export function VendorView({ name, mayChange }: { name: string; mayChange: boolean }) {
  const { t } = useTranslation(manage);
  const { data, error, refetch } = useProviders();
  const vendor = data?.find((one) => one.name === name);
  if (vendor !== undefined) return <OneVendor vendor={vendor} mayChange={mayChange} />;
  if (data !== undefined) {
    return <Empty icon={<SearchX />} title={t("models.vendorGone")} hint={t("models.vendorGoneHint")} />;
  }
  return error === null ? <Loading lines={6} /> : <Failed error={error} onRetry={() => void refetch()} />;
}

function OneVendor({ vendor, mayChange }: { vendor: Provider; mayChange: boolean }) {
  const { t } = useTranslation(manage);
  const [, navigate] = useLocation();
  const { name, title, key, base_url: address, is_built_in, llm_last_verified_at: verifiedAt } = vendor;
  const [isEdited, setEdited] = useState(false);
  const [isForgetting, setForgetting] = useState(false);
  const takeBack = async () => {
    await forgetVendor(name);
    notify(t("models.vendorForgotten", { name: visible(title) }));
    if (!is_built_in) navigate(vendorAddress());
  };
  return (
    <div className="shaping-view">
      <header className="prompt-head">
        <div>
          <h2>{visible(title)}</h2>
          <p className="hint mono">{visible(name)}</p>
        </div>
        {mayChange && (
          <div className="filters">
            <Button size="small" onClick={() => setEdited(!isEdited)} aria-expanded={isEdited}>
              {t("models.changeAddress")}
            </Button>
            <Button size="small" kind="quiet" onClick={() => setForgetting(true)}>
              {t(is_built_in ? "prompts.reset" : "models.removeVendor")}
            </Button>
          </div>
        )}
      </header>
      {isEdited && <VendorForm vendor={vendor} onClose={() => setEdited(false)} />}
      <Facts
        title={t("models.facts")}
        rows={[
          [t("models.address"), address === null ? "–" : visible(address)],
          [t("models.place"), t(vendor.is_local ? "models.local" : "models.remote")],
          [t("models.keyName"), key === null ? t("models.keyless") : key.name],
          ...(key === null ? [] : [[t("models.keyState"), keyState(t, key)] as const]),
          [t("models.usual"), vendor.usual_model ?? "–"],
          [t("models.verified"), verifiedAt === null ? t("models.never") : longTime(verifiedAt)],
        ]}
      />
      {mayChange && key !== null && <KeyForm vendor={name} isStored={key.source === "file"} />}
      {isForgetting && (
        <Confirm
          title={t(is_built_in ? "models.resetVendor" : "models.removeVendor")}
          hint={t(is_built_in ? "models.resetVendorHint" : "models.removeVendorHint", { name: visible(title) })}
          action={t(is_built_in ? "prompts.reset" : "models.removeVendor")}
          run={takeBack}
          onClose={() => setForgetting(false)}
        />
      )}
    </div>
  );
}

function keyState(t: TFunction<"manage">, { is_set, source, shown }: NonNullable<Provider["key"]>): string {
  if (!is_set) return t("models.keyMissing");
  return `${t(source === "file" ? "models.keyOfFile" : "models.keyOfEnvironment")} ${shown ?? ""}`;
}

/** A key is written and never read again. */
function KeyForm({ vendor, isStored }: { vendor: string; isStored: boolean }) {
  const { t } = useTranslation(manage);
  const [key, setKey] = useState("");
  const [isForgetting, setForgetting] = useState(false);
  const save = async () => {
    await setVendorKey(vendor, key.trim());
    setKey("");
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
      <label className="field">
        <span>{t(isStored ? "models.newKey" : "models.setKey")}</span>
        <input
          type="password"
          className="input mono"
          autoComplete="off"
          value={key}
          onChange={({ target }) => setKey(target.value)}
        />
      </label>
      <p className="hint">{t("model.keyHint")}</p>
      <div className="row-end">
        {isStored && (
          <Button size="small" kind="quiet" onClick={() => setForgetting(true)}>
            {t("models.forgetKey")}
          </Button>
        )}
        <Button size="small" kind="primary" type="submit" disabled={key.trim() === ""}>
          {t("models.saveKey")}
        </Button>
      </div>
      {isForgetting && (
        <Confirm
          title={t("models.forgetKey")}
          hint={t("models.forgetKeyHint")}
          action={t("models.forgetKey")}
          run={() => setVendorKey(vendor)}
          onClose={() => setForgetting(false)}
        />
      )}
    </form>
  );
}
