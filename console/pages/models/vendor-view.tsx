import SearchX from "icon:search-x";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useLocation } from "wouter";
import { forgetVendor, setVendorKey, useProviders, type Provider } from "../../api/shaping/models.ts";
import { vendorAddress } from "../../app/addresses.ts";
import { visible } from "../../markdown/links.ts";
import { Button } from "../../parts/button.tsx";
import { Empty, Failed, Loading } from "../../parts/states.tsx";
import { notify } from "../../parts/toast.tsx";
import { manage } from "../../text/manage/words.ts";
import { longTime } from "../../text/time.ts";
import { Facts } from "../facts.tsx";
import { DeleteButton } from "../forms/delete-button.tsx";
import { KeyForm, keyState } from "../forms/key-form.tsx";
import { OllamaView } from "./ollama-parts.tsx";
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
            <DeleteButton
              label={t(is_built_in ? "prompts.reset" : "models.removeVendor")}
              title={t(is_built_in ? "models.resetVendor" : "models.removeVendor")}
              hint={t(is_built_in ? "models.resetVendorHint" : "models.removeVendorHint", { name: visible(title) })}
              run={takeBack}
            />
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
      {name === "ollama" && <OllamaView />}
      {mayChange && key !== null && (
        <KeyForm isStored={key.source === "file"} write={(next) => setVendorKey(name, next)} />
      )}
    </div>
  );
}
