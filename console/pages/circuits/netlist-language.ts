import type { Netlist } from "../../api/shaping/circuit-shapes.ts";
import type { Piece, TextLanguage } from "../prompts/variables.ts";

/** Minimum letters of a node's name before completions are offered. */
const minLetters = 2;

/** How an editor marks and completes a netlist. */
export function languageOf({ problems, nets }: Netlist, net: string | undefined): Omit<TextLanguage, "completeLabel"> {
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
      if (begun.length < minLetters || names.includes(begun)) return { names: [], from: caret };
      return { names: names.filter((name) => name.startsWith(begun)), from: caret - begun.length };
    },
    closing: "",
  };
}

/** The net that a place of a netlist names: a node of a part. */
export function netAt(text: string, at: number, { parts }: Pick<Netlist, "parts">): string | undefined {
  const line = text.slice(0, at).split("\n").length;
  const [before = ""] = /[^\s()=,]*$/u.exec(text.slice(0, at)) ?? [];
  const [after = ""] = /^[^\s()=,]*/u.exec(text.slice(at)) ?? [];
  const word = (before + after).toLowerCase();
  return parts.find((part) => part.line === line)?.nodes.find((node) => node === word);
}

/** A line in words, of which those that name the net are marked. */
function wordsOf(line: string, net: string): Piece[] {
  return line.split(/(\s+)/u).map((text): Piece => ({ text, kind: text.toLowerCase() === net ? "variable" : "words" }));
}
