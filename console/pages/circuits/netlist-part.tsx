import { useId, useMemo, useRef } from "react";
import { useTranslation } from "react-i18next";
import type { Netlist } from "../../api/shaping/circuit-shapes.ts";
import { visible } from "../../markdown/links.ts";
import { manage } from "../../text/manage/words.ts";
import { TextEditor } from "../prompts/text-editor.tsx";
import { languageOf, netAt } from "./netlist-language.ts";

/** The netlist as a text: its lines that have problems are marked, and so is the net that is looked at. */
export function NetlistPart({
  text,
  netlist,
  net,
  onChange,
  onNet,
}: {
  text: string;
  netlist: Netlist;
  /** The net that is looked at. */
  net: string | undefined;
  onChange: (text: string) => void;
  /** The net on which the caret was put, if it is one. */
  onNet: (net: string | undefined) => void;
}) {
  const { t } = useTranslation(manage);
  const id = useId();
  const field = useRef<HTMLTextAreaElement>(null);
  const { problems } = netlist;
  const language = useMemo(
    () => ({ ...languageOf(netlist, net), completeLabel: t("circuits.nodes") }),
    [netlist, net, t],
  );
  const goTo = (line: number) => {
    const before = text.split("\n").slice(0, line - 1);
    const start = before.reduce((sum, one) => sum + one.length + 1, 0);
    field.current?.focus();
    field.current?.setSelectionRange(start, start + (text.split("\n")[line - 1]?.length ?? 0));
  };
  return (
    <>
      <TextEditor
        value={text}
        onChange={onChange}
        onCaret={(at) => onNet(netAt(text, at, netlist))}
        of={language}
        readOnly={false}
        label={t("circuits.netlist")}
        describedBy={`${id}-problems`}
        field={field}
      />
      <div id={`${id}-problems`} className="prompt-problems" role="status">
        {problems.length === 0 && <p className="hint">{t("circuits.noProblems")}</p>}
        {problems.map(({ line, severity, message }, at) => (
          <button key={at} type="button" className="prompt-problem" data-severity={severity} onClick={() => goTo(line)}>
            {t("circuits.line", { line, problem: visible(message) })}
          </button>
        ))}
      </div>
    </>
  );
}
