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
export function JsonView({ value, ...how }: { value: unknown; label: string; isNumbered?: boolean }) {
  const text = typeof value === "string" ? value : jsonText(value);
  return <LongText text={text} {...how} />;
}

/** A text of any length in a box that scrolls; its lines may have numbers. */
export function LongText({ text, label, isNumbered = false }: { text: string; label: string; isNumbered?: boolean }) {
  const { t } = useTranslation(work);
  const [isWhole, setWhole] = useState(false);
  const isCut = !isWhole && text.length > firstPart;
  const shown = visible(isCut ? text.slice(0, firstPart) : text);
  return (
    <div className="json-view">
      <pre role="group" aria-label={label} tabIndex={0} className={isNumbered ? "numbered" : undefined}>
        {isNumbered ? shown.split("\n").map((line, index) => <span key={index}>{`${line}\n`}</span>) : shown}
      </pre>
      {isCut && (
        <Button size="small" kind="quiet" onClick={() => setWhole(true)}>
          {t("run.showLarge", { size: byteSize(text.length) })}
        </Button>
      )}
    </div>
  );
}
