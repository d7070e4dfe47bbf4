import type Katex from "katex";
import { useEffect, useRef, useState } from "react";

/** Maximum characters of a formula that is rendered; a longer one is shown as source. */
const maxLength = 10_000;

/** A formula of LaTeX. What cannot be read, and what is not there yet, is shown as it is written. */
export function Formula({ source, text, isBlock }: { source: string; text: string; isBlock: boolean }) {
  const place = useRef<HTMLSpanElement>(null);
  const [drawn, setDrawn] = useState<string>();
  useEffect(() => {
    let isCurrent = true;
    if (text.length > maxLength) return undefined;
    void loadKatex().then(({ render, ParseError }) => {
      if (!isCurrent || place.current === null) return;
      try {
        // Nothing is trusted: no links, no pictures, no attributes; and no macro grows without end.
        render(text, place.current, {
          displayMode: isBlock,
          trust: false,
          strict: false,
          maxExpand: 1_000,
          maxSize: 50,
        });
        setDrawn(text);
      } catch (error) {
        if (!(error instanceof ParseError)) throw error;
        setDrawn(undefined);
      }
    });
    return () => {
      isCurrent = false;
    };
  }, [text, isBlock]);
  const isDrawn = drawn === text;
  return (
    <span className={isBlock ? "formula formula-block" : "formula"} {...(isBlock && isDrawn && { tabIndex: 0 })}>
      <span ref={place} hidden={!isDrawn} />
      {!isDrawn && <span className="formula-source">{source}</span>}
    </span>
  );
}

/** The package and its sheet come with the first formula. */
async function loadKatex(): Promise<typeof Katex> {
  const [{ default: katex }] = await Promise.all([import("katex"), import("katex/dist/katex.min.css")]);
  return katex;
}
