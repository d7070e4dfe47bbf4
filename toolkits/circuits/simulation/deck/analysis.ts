import { AppError } from "@millrace/engine/errors/errors";
import { parseSpiceNumber } from "./spice-number.ts";

/** The supported analyses. */
export const analysisTypes = ["op", "dc", "ac", "tran", "noise"] as const;
export type AnalysisType = (typeof analysisTypes)[number];

/** One analysis: its kind and its card. */
export interface Analysis {
  type: AnalysisType;
  /** The card, such as `.ac dec 20 1 10meg`. */
  card: string;
}

/** Maximum points of an analysis: each is kept for every node, and the model sees none of them. */
const maxPoints = 500_000;

const forms: Readonly<Record<AnalysisType, string>> = {
  op: ".op",
  dc: ".dc <source> <start> <stop> <step>",
  ac: ".ac dec|oct|lin <points> <from> <to>",
  tran: ".tran <step> <stop>",
  noise: ".noise v(<output>) <source> dec|oct|lin <points> <from> <to>",
};

/** Whether a line requests an analysis, with or without a leading dot. */
export function isAnalysis(text: string): boolean {
  return /^\.?(?:op|dc|ac|tran|noise)\b/iu.test(text.trim());
}

/**
 * Parses an analysis. `where` names its source in errors. Throws `invalid_parameter` for anything else, and `too_large`
 * for more than 500,000 points.
 */
export function readAnalysis(text: string, where: string): Analysis {
  const card = text.trim().replaceAll(/\s+/gu, " ");
  const [first = "", ...words] = card.split(" ");
  const type = analysisTypes.find((one) => one === first.replace(/^\./u, "").toLowerCase());
  if (type === undefined || !/^[\w .,+\-()[\]#:/]*$/u.test(card)) {
    throw new AppError("invalid_parameter", `${where}: "${card.slice(0, 80)}" is no analysis that can be run.`, {
      suggestion: `Use one of: ${Object.values(forms).join("; ")}.`,
    });
  }
  const points = pointsOf(type, words);
  if (points === undefined) {
    throw new AppError("invalid_parameter", `${where}: "${card.slice(0, 80)}" is not of the form ${forms[type]}.`, {
      suggestion: "Give positive numbers, such as 1k, 10meg or 1u, with from below to.",
    });
  }
  if (points > maxPoints) {
    throw new AppError(
      "too_large",
      `${where}: "${card}" asks for ${points.toExponential(1)} points, at most ${maxPoints} are run.`,
      {
        suggestion: "Take a larger step or a smaller range.",
      },
    );
  }
  return { type, card: `.${type}${words.length === 0 ? "" : ` ${words.join(" ")}`}` };
}

function pointsOf(type: AnalysisType, words: readonly string[]): number | undefined {
  switch (type) {
    case "op":
      return words.length === 0 ? 1 : undefined;
    case "dc": {
      if (words.length !== 4 && words.length !== 8) return undefined;
      const inner = dcPoints(words.slice(1, 4));
      const outer = words.length === 8 ? dcPoints(words.slice(5)) : 1;
      return inner === undefined || outer === undefined ? undefined : inner * outer;
    }
    case "ac":
      return sweepPoints(words);
    case "noise":
      // A reference node may follow the output, and a step for the summary ends the line.
      return /^v\(.+\)$/iu.test(words[0] ?? "") ? sweepPoints(words.slice(2, 6)) : undefined;
    case "tran":
      return transientPoints(words);
  }
}

function dcPoints(words: readonly string[]): number | undefined {
  const [start, stop, step] = words.map(parseSpiceNumber);
  if (start === undefined || stop === undefined || step === undefined || step === 0) return undefined;
  return (stop - start) / step < 0 ? undefined : Math.floor((stop - start) / step) + 1;
}

function sweepPoints([kind = "", ...words]: readonly string[]): number | undefined {
  const [count, from, to] = words.map(parseSpiceNumber);
  if (count === undefined || from === undefined || to === undefined || count < 1 || from <= 0 || to < from) {
    return undefined;
  }
  const ways: Record<string, number> = { dec: Math.log10(to / from), oct: Math.log2(to / from), lin: 1 };
  const spans = ways[kind.toLowerCase()];
  return spans === undefined || words.length !== 3 ? undefined : Math.ceil(count * spans) + 1;
}

function transientPoints(words: readonly string[]): number | undefined {
  const numbers = words.filter((word) => word.toLowerCase() !== "uic").map(parseSpiceNumber);
  const [step, stop, begin = 0, maxStep = step] = numbers;
  if (step === undefined || stop === undefined || begin === undefined || maxStep === undefined) return undefined;
  if (step <= 0 || stop <= 0 || maxStep <= 0 || begin < 0 || begin >= stop || numbers.length > 4) return undefined;
  // The simulator allocates every printed step, and advances by at most the smaller of the two.
  return Math.ceil(stop / Math.min(step, maxStep));
}
