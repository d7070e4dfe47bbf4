import { highlightTree, classHighlighter } from "@lezer/highlight";
import type { Parser } from "@lezer/common";
import Check from "icon:check";
import Copy from "icon:copy";
import WrapText from "icon:wrap-text";
import { memo, useEffect, useState, type ReactNode } from "react";
import { useTranslation } from "react-i18next";

/** Lines, and characters of a line, beyond which code is shown without colours: a browser lays out a line as a whole. */
const maxLines = 2_000;
const tooLong = /[^\n]{2000}/u;
/** Characters beyond which only the beginning is shown. */
const maxCharacters = 100_000;

/** Calls `paint` for each piece of a text that has a colour, from the first to the last. */
type Painter = (text: string, paint: (from: number, to: number, classes: string) => void) => void;

const byGrammar = (grammar: Parser): Painter => {
  return (text, paint) => highlightTree(grammar.parse(text), classHighlighter, paint);
};
const painters: Record<string, () => Promise<Painter>> = {
  js: async () => byGrammar((await import("@lezer/javascript")).parser.configure({ dialect: "jsx" })),
  ts: async () => byGrammar((await import("@lezer/javascript")).parser.configure({ dialect: "ts jsx" })),
  json: async () => byGrammar((await import("@lezer/json")).parser),
  py: async () => byGrammar((await import("@lezer/python")).parser),
  cir: async () => (await import("./spice.ts")).paintNetlist,
};
const otherNames: Record<string, string> = {
  javascript: "js",
  jsx: "js",
  mjs: "js",
  cjs: "js",
  typescript: "ts",
  tsx: "ts",
  jsonc: "json",
  python: "py",
  ckt: "cir",
  lib: "cir",
  netlist: "cir",
  sp: "cir",
  spice: "cir",
};

/** A block of code with its colours, which come when it is whole. */
export const CodeBlock = memo(function CodeBlock({
  text,
  language,
  isOpen,
}: {
  text: string;
  language: string;
  isOpen: boolean;
}) {
  const { t } = useTranslation();
  const [wraps, setWraps] = useState(false);
  const [isWhole, setWhole] = useState(false);
  const shown = isWhole || text.length <= maxCharacters ? text : text.slice(0, maxCharacters);
  const colours = useColours(shown, language, isOpen);
  return (
    <figure className="code-block">
      <figcaption>
        <span>{language}</span>
        <span className="code-tools">
          <button
            type="button"
            className="code-tool"
            aria-pressed={wraps}
            onClick={() => setWraps(!wraps)}
            aria-label={t("code.wrap")}
            title={t("code.wrap")}
          >
            <WrapText size={14} />
          </button>
          <CopyButton text={text} label={t("code.copy")} />
        </span>
      </figcaption>
      <pre data-wraps={wraps || undefined} tabIndex={0}>
        <code>{colours}</code>
      </pre>
      {shown.length < text.length && (
        <button type="button" className="code-more" onClick={() => setWhole(true)}>
          {t("tool.showAll")} ({text.length.toLocaleString()})
        </button>
      )}
    </figure>
  );
});

/** Copies a text and says so for a moment. */
export function CopyButton({
  text,
  label,
  className = "code-tool",
}: {
  text: string;
  label: string;
  className?: string;
}) {
  const { t } = useTranslation();
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), 1_500);
  };
  return (
    <button
      type="button"
      className={className}
      onClick={() => void copy()}
      aria-label={isCopied ? t("app.copied") : label}
      title={label}
    >
      {isCopied ? <Check size={14} /> : <Copy size={14} />}
    </button>
  );
}

function useColours(text: string, language: string, isOpen: boolean): ReactNode {
  const name = otherNames[language.toLowerCase()] ?? language.toLowerCase();
  const load = Object.hasOwn(painters, name) ? painters[name] : undefined;
  const [painter, setPainter] = useState<Painter>();
  const isColoured =
    load !== undefined && !isOpen && text.split("\n", maxLines + 1).length <= maxLines && !tooLong.test(text);
  useEffect(() => {
    let isCurrent = true;
    if (isColoured) void load().then((loaded) => isCurrent && setPainter(() => loaded));
    return () => {
      isCurrent = false;
    };
  }, [isColoured, load]);
  return painter === undefined || !isColoured ? text : coloured(text, painter);
}

/** A text with a span for each thing that has a colour. */
function coloured(text: string, painter: Painter): ReactNode[] {
  const found: ReactNode[] = [];
  let at = 0;
  painter(text, (from, to, classes) => {
    if (from > at) found.push(text.slice(at, from));
    found.push(
      <span key={from} className={classes}>
        {text.slice(from, to)}
      </span>,
    );
    at = to;
  });
  if (at < text.length) found.push(text.slice(at));
  return found;
}
