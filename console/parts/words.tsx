import { useState } from "react";
import { useTranslation } from "react-i18next";
import { visible } from "../markdown/links.ts";
import { byteSize } from "../text/time.ts";

/** Characters of a text that are drawn before the user asks for all of it. */
const firstPart = 20_000;

/** A text of any length; of a long one its beginning, and the rest on request. */
export function Words({ text }: { text: string }) {
  const { t } = useTranslation();
  const [isWhole, setWhole] = useState(false);
  if (isWhole || text.length <= firstPart) return visible(text);
  return (
    <>
      {visible(text.slice(0, firstPart))}…
      <button type="button" className="code-more" onClick={() => setWhole(true)}>
        {t("tool.showAll")} ({byteSize(text.length)})
      </button>
    </>
  );
}
