import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useLocation } from "wouter";
import { changeSetting, type Setting } from "../../api/shaping/settings.ts";
import { vendorAddress, webSearchAddress } from "../../app/addresses.ts";
import { visible } from "../../markdown/links.ts";
import { Button } from "../../parts/button.tsx";
import { notify, notifyError } from "../../parts/toast.tsx";
import { manage } from "../../text/manage/words.ts";

/** The settings that are changed while the server runs; the names of the others are explained in .env.example. */
const explained = [
  "MILLRACE_TOOL_RATE",
  "MILLRACE_MODEL_RATE",
  "MILLRACE_MODEL_REQUESTS",
  "MILLRACE_CRITICAL_FILES",
  "MILLRACE_CONFIRM_TASKS",
  "MILLRACE_LOG_LEVEL",
  "MILLRACE_SEARCH",
  "MILLRACE_WEB_FETCH",
  "GOOGLE_SEARCH_CX",
  "GOOGLE_SEARCH_URL",
  "BING_SEARCH_URL",
  "SEARXNG_URL",
] as const;

/** A setting, where its value comes from, and the way to change it. */
export function SettingRow({ setting }: { setting: Setting }) {
  const { t } = useTranslation(manage);
  const [, navigate] = useLocation();
  const [draft, setDraft] = useState<string>();
  const { name, value, source, change } = setting;
  const meaning = explained.find((one) => one === name);
  const isLive = change === "PATCH /settings";
  const isEdited = draft !== undefined;
  const elsewhere = placeOf(change);
  const keep = async (next: string | null) => {
    await changeSetting(name, next);
    setDraft((now) => (now?.trim() === next ? undefined : now));
    notify(t(next === null ? "settings.isReset" : "settings.saved", { name }));
  };
  return (
    <li className="setting">
      <div className="setting-head">
        <span className="mono">{name}</span>
        {source !== "default" && (
          <b className="chip" data-source={source}>
            {t(`settings.source.${source}`)}
          </b>
        )}
        {meaning !== undefined && <small>{t(`settings.meaning.${meaning}`)}</small>}
      </div>
      <div className="setting-value">
        {isEdited ? (
          <form
            className="filters"
            onSubmit={(event) => {
              event.preventDefault();
              if (draft.trim() !== "") void keep(draft.trim()).catch(notifyError);
            }}
          >
            <input
              className="input mono"
              aria-label={t("settings.valueOf", { name })}
              value={draft}
              // The field has just been asked for.
              ref={focusFirst}
              onChange={({ target }) => setDraft(target.value)}
            />
            <Button size="small" kind="primary" type="submit" disabled={draft.trim() === ""}>
              {t("prompts.save")}
            </Button>
            <Button size="small" onClick={() => setDraft(undefined)}>
              {t("prompts.discard")}
            </Button>
          </form>
        ) : (
          <code>{shownOf(value) || t("settings.empty")}</code>
        )}
        {source !== "default" && !setting.is_secret && (
          <small>{t("settings.default", { value: shownOf(setting.default) || t("settings.empty") })}</small>
        )}
      </div>
      <div className="setting-actions">
        {isLive && !isEdited && (
          <Button
            size="small"
            kind="quiet"
            aria-label={t("settings.changeOf", { name })}
            onClick={() => setDraft(shownOf(value))}
          >
            {t("settings.change")}
          </Button>
        )}
        {isLive && source === "changed" && !isEdited && (
          <Button
            size="small"
            kind="quiet"
            aria-label={t("settings.resetOf", { name })}
            onClick={() => void keep(null).catch(notifyError)}
          >
            {t("settings.reset")}
          </Button>
        )}
        {elsewhere !== undefined && (
          <Button
            size="small"
            kind="quiet"
            aria-label={t("settings.changeOf", { name })}
            onClick={() => navigate(elsewhere)}
          >
            {t("settings.elsewhere")}
          </Button>
        )}
        {change === null && <small>{t("settings.needsRestart")}</small>}
        {change !== null && !isLive && elsewhere === undefined && <small className="mono">{change}</small>}
      </div>
    </li>
  );
}

function focusFirst(field: HTMLInputElement | null): void {
  if (field !== null && document.activeElement !== field) field.focus();
}

/** The page on which it is changed. */
function placeOf(change: string | null): string | undefined {
  if (change === "PUT /models/roles") return "/roles";
  if (change?.startsWith("PUT /web-search/") === true) return webSearchAddress;
  const vendor = /^PUT \/providers\/([\w-]+)/u.exec(change ?? "")?.[1];
  return vendor === undefined ? undefined : vendorAddress(vendor);
}

/** A value as the environment would say it. */
function shownOf(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (Array.isArray(value)) return value.map(shownOf).join(",");
  return visible(typeof value === "string" ? value : JSON.stringify(value));
}
