import { useId, useMemo, useRef } from "react";
import { useTranslation } from "react-i18next";
import type { Netlist } from "../../api/shaping/circuit-shapes.ts";
import { visible } from "../../markdown/links.ts";
import { manage } from "../../text/manage/words.ts";
import { TextEditor, type TextLanguage } from "../prompts/text-editor.tsx";
import type { Piece } from "../prompts/variables.ts";

/** Letters of a node after which it is completed. */
const fewest = 2;

/** The netlist as a text: its lines that have problems are marked, and so is the net that is looked at. */
export function NetlistPart({
  text,
  netlist,
  net,
  onChange,
}: {
  text: string;
  netlist: Netlist;
  /** The net that is looked at. */
  net: string | undefined;
  onChange: (text: string) => void;
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

/** How an editor marks and completes a netlist. */
function languageOf({ problems, nets }: Netlist, net: string | undefined): Omit<TextLanguage, "completeLabel"> {
  const wrong = new Map(problems.toReversed().map(({ line, severity }) => [line, severity]));
  const names = [...new Set(nets.map(({ name }) => name))].filter((name) => name.length > 1);
  return {
    pieces: (line, at) => {
      const severity = wrong.get(at + 1);
      if (severity !== undefined && line !== "") {
        return [{ text: line, kind: severity === "error" ? "unknown" : "required" }];
      }
      return net === undefined || line.startsWith("*") ? [{ text: line, kind: "words" }] : wordsOf(line, net);
    },
    completions: (text, caret) => {
      const before = text.slice(text.lastIndexOf("\n", caret - 1) + 1, caret);
      const begun = /^[a-z]\w*\s.*?(?<name>[\w.-]*)$/iu.exec(before)?.groups?.["name"]?.toLowerCase() ?? "";
      if (begun.length < fewest || names.includes(begun)) return { names: [], from: caret };
      return { names: names.filter((name) => name.startsWith(begun)), from: caret - begun.length };
    },
    closing: "",
  };
}

/** A line in words, of which those that name the net are marked. */
function wordsOf(line: string, net: string): Piece[] {
  return line.split(/(\s+)/u).map((text): Piece => ({ text, kind: text.toLowerCase() === net ? "variable" : "words" }));
}
