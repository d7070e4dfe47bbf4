import { useTranslation } from "react-i18next";
import { fileAddress } from "../../app/addresses.ts";
import { CopyButton } from "../../markdown/code.tsx";
import { visible } from "../../markdown/links.ts";
import { manage } from "../../text/manage/words.ts";
import { PlaceLink } from "../place-link.tsx";

/** The file in which it is written and changed; one of the workspace can be opened. */
export function OwnFile({ path }: { path: string }) {
  const { t } = useTranslation(manage);
  const isInHome = path.startsWith("~");
  return (
    <div className="filters hint">
      <code>{visible(path)}</code>
      <CopyButton text={path} label={t("files.copyPath")} className="icon-button" />
      {!isInHome && <PlaceLink address={fileAddress(path)}>{t("agents.openFile")}</PlaceLink>}
    </div>
  );
}
