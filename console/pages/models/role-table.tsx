import { useState } from "react";
import { useTranslation } from "react-i18next";
import { roleNames, setRoles, useKnownModels } from "../../api/shaping/models.ts";
import { visible } from "../../markdown/links.ts";
import { Button } from "../../parts/button.tsx";
import { Failed, Loading } from "../../parts/states.tsx";
import { notify, notifyError } from "../../parts/toast.tsx";
import { manage } from "../../text/manage/words.ts";
import { ReadOnly } from "../read-only.tsx";

/** Which model is used for what. */
export function RoleTable({ mayChange }: { mayChange: boolean }) {
  const { t } = useTranslation(manage);
  const { data, error, refetch } = useKnownModels();
  const [draft, setDraft] = useState<Readonly<Record<string, string>>>();
  const [isBusy, setBusy] = useState(false);
  if (data === undefined) {
    return error === null ? <Loading lines={8} /> : <Failed error={error} onRetry={() => void refetch()} />;
  }
  const roles = draft ?? data.roles;
  const usable = data.models.filter(({ has_what_it_needs }) => has_what_it_needs).map(({ name }) => name);
  const names = [...new Set([...usable, ...Object.values(roles)])].toSorted();
  const save = async () => {
    setBusy(true);
    try {
      await setRoles(roles);
      setDraft((now) => (now === draft ? undefined : now));
      notify(t("models.rolesSaved"));
    } finally {
      setBusy(false);
    }
  };
  const choose = (role: string, model: string) => {
    const { [role]: _, ...others } = roles;
    setDraft(model === "" ? others : { ...others, [role]: model });
  };
  return (
    <form
      className="shaping-view roles"
      aria-label={t("models.uses")}
      onSubmit={(event) => {
        event.preventDefault();
        if (draft !== undefined) void save().catch(notifyError);
      }}
    >
      <p className="hint">{t("models.rolesHint")}</p>
      <ReadOnly />
      {roleNames.map((role) => (
        <label key={role} className="role">
          <span>
            {t(`models.role.${role}`)}
            <small>{t(`models.roleHint.${role}`)}</small>
          </span>
          <select
            className="input"
            value={roles[role] ?? ""}
            disabled={!mayChange}
            onChange={({ target }) => choose(role, target.value)}
          >
            <option value="">{t(`models.without.${withoutOf(role)}`)}</option>
            {names.map((name) => (
              <option key={name} value={name}>
                {visible(name)}
              </option>
            ))}
          </select>
        </label>
      ))}
      {mayChange && (
        <div className="row-end">
          <Button size="small" disabled={draft === undefined || isBusy} onClick={() => setDraft(undefined)}>
            {t("prompts.discard")}
          </Button>
          <Button size="small" kind="primary" type="submit" disabled={draft === undefined || isBusy}>
            {t("prompts.save")}
          </Button>
        </div>
      )}
    </form>
  );
}

/** Who does it where no model is named. */
function withoutOf(role: (typeof roleNames)[number]): "settings" | "rule" | "none" | "counterpart" | "main" {
  if (role === "main") return "settings";
  if (role === "titles") return "rule";
  if (role === "vision") return "counterpart";
  return role === "fallback" || role === "embedding" ? "none" : "main";
}
