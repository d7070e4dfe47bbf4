import { useState } from "react";
import { useTranslation } from "react-i18next";
import { visible } from "../../markdown/links.ts";
import { jsonText } from "../../text/json-text.ts";
import { byteSize } from "../../text/time.ts";
import { work } from "../../text/inspector/work.ts";
import { Button } from "../button.tsx";
import "../../style/later.css";

/** Characters that are shown before the user asks for all. */
const firstPart = 20_000;

/** A value as JSON that can be read; a long one is cut until all of it is asked for. */
export function JsonView({ value, label }: { value: unknown; label: string }) {
  const text = typeof value === "string" ? value : jsonText(value);
  return <LongText text={text} label={label} />;
}

/** A text of any length in a box that scrolls. */
export function LongText({ text, label }: { text: string; label: string }) {
  const { t } = useTranslation(work);
  const [isWhole, setWhole] = useState(false);
  const isCut = !isWhole && text.length > firstPart;
  return (
    <div className="json-view">
      <pre role="group" aria-label={label} tabIndex={0}>
        {visible(isCut ? text.slice(0, firstPart) : text)}
      </pre>
      {isCut && (
        <Button size="small" kind="quiet" onClick={() => setWhole(true)}>
          {t("run.showLarge", { size: byteSize(text.length) })}
        </Button>
      )}
    </div>
  );
}
