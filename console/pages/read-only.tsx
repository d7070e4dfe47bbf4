import { useTranslation } from "react-i18next";
import { useCaller } from "../api/threads.ts";
import { manage } from "../text/manage/words.ts";

/** Says that what is here can be read only, to those who do not administer the server. */
export function ReadOnly() {
  const { t } = useTranslation(manage);
  const mayChange = useCaller().data?.may_administer !== false;
  return mayChange ? null : <p className="run-note">{t("prompts.readOnly")}</p>;
}
