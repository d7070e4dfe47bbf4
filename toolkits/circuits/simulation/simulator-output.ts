import { AppError, type ErrorCode } from "@millrace/engine/errors/errors";
import type { Analysis } from "./deck/analysis.ts";
import type { Deck } from "./deck/deck.ts";
import { placeOf } from "./deck/statements.ts";

/** Characters of the output that a failure quotes, and the number of warnings that are reported. */
const [maxQuoteLength, maxWarnings] = [600, 8];

/** Meanings of the simulator's messages, most specific first. */
const meanings: readonly { words: RegExp; code: ErrorCode; what: string; suggestion: string }[] = [
  {
    words: /malloc|not enough memory|out of memory|can't allocate/iu,
    code: "too_large",
    what: "The simulation needs more memory than it may take.",
    suggestion: "Take a larger step, a shorter time or fewer nodes.",
  },
  {
    words: /can't find model|could not find a valid modelname|unable to find definition of model|no such model/iu,
    code: "invalid_parameter",
    what: "A model is missing.",
    suggestion: "Add a .model line for it, or include the file that holds it.",
  },
  {
    words: /unknown subckt|can't find subckt|too many.*subcircuit|subcircuit.*(?:not found|undefined)/iu,
    code: "invalid_parameter",
    what: "A sub-circuit is missing, or one contains itself.",
    suggestion: "Add its .subckt … .ends, or include the file that holds it.",
  },
  {
    words:
      /singular matrix|no convergence|operating point could not|gmin stepping failed|source stepping failed|iteration limit/iu,
    code: "execution_failed",
    what: "The simulation did not converge: no operating point was found.",
    suggestion:
      "Give every node a direct path to ground, remove loops of voltage sources, set .nodeset or .ic, or add .options gmin=1e-10.",
  },
  {
    words: /timestep too small|time step too small/iu,
    code: "execution_failed",
    what: "The simulation did not converge: the time step became too small.",
    suggestion:
      "Give sources a rise time, nodes a path to ground, and models real capacitances; or try .options reltol=0.01 method=gear.",
  },
  {
    words: /netlist line no|undefined parameter|undefined identifier|cannot compute|formula\(\) error|expression/iu,
    code: "invalid_parameter",
    what: "A value cannot be computed.",
    suggestion: "Define each name in {…} with .param.",
  },
  {
    words:
      /instance line, ignored|circuit not parsed|interrupted due to error|unknown device|unimplemented|syntax|too few|unknown parameter|no such/iu,
    code: "invalid_parameter",
    what: "The circuit could not be read.",
    suggestion: "Look at the line that is named: its nodes, its value, and the model behind them.",
  },
];

/** The failure in the simulator's output, with its line. */
export function failureIn(output: string, analysis: Analysis, deck: Deck): AppError {
  const lines = [...new Set(relevantLines(output))].toSorted((left, right) => weight(left) - weight(right));
  const text = lines.join("\n");
  const meaning = meanings.find(({ words }) => words.test(text));
  const quote = lines.slice(0, 8).join(" | ").slice(0, maxQuoteLength);
  const where = placeIn(lines, deck);
  const head = meaning?.what ?? "The simulation failed.";
  return new AppError(
    meaning?.code ?? "execution_failed",
    `${head}${where === null ? "" : ` ${where}.`} Analysis: ${analysis.card}.${quote === "" ? "" : ` ngspice: ${quote}`}`,
    {
      suggestion: meaning?.suggestion ?? "Try the analysis .op first, and add one part of the circuit after the other.",
    },
  );
}

/** Whether the simulator skipped an unreadable line: it then simulated something else than was written. */
export function hasLeftOut(output: string): boolean {
  return /is not a valid .* instance line, ignored/iu.test(output);
}

/** The simulator's warnings, each once. */
export function warningsIn(output: string, deck: Deck): string[] {
  const found = new Set<string>();
  for (const line of relevantLines(output)) {
    if (!/^warning/iu.test(line) || /no job/iu.test(line)) continue;
    const where = placeIn([line], deck);
    found.add(`${line.slice(0, 200)}${where === null ? "" : ` (${where})`}`);
  }
  return [...found].slice(0, maxWarnings);
}

/** The results of the circuit's `.meas` lines; failed ones are omitted. */
export function measuredIn(output: string): Record<string, number> {
  const begin = output.search(/^\s*Measurements for /mu);
  if (begin < 0) return {};
  const found: Record<string, number> = {};
  for (const line of output.slice(begin).split("\n")) {
    const [, name, value] = /^\s*([a-z_]\w*)\s*=\s*([+-]?[\d.]+(?:e[+-]?\d+)?)(?:\s|$)/iu.exec(line) ?? [];
    if (name !== undefined && Number.isFinite(Number(value))) found[name.toLowerCase()] = Number(value);
  }
  return found;
}

/** Sorts errors before warnings, and anything else last. */
function weight(line: string): number {
  return /error|failed|can't|could not|undefined/iu.test(line) ? 0 : /^warning/iu.test(line) ? 1 : 2;
}

function relevantLines(output: string): string[] {
  const noise =
    /^(?:ngspice \d+|Note:|Circuit:|Doing analysis|Using SPARSE|No\. of Data|Initial Transient|Node\s+Voltage|-+|binary raw file|Warning: can't find the initialization|Error during 'write'|Warning from checkvalid|run simulation|Reset re-loads)/u;
  return output
    .split("\n")
    .map((line) => line.replace(/^(?:ngspice \d+ -> )+/u, "").trim())
    .filter((line) => line !== "" && !noise.test(line) && !line.includes("millrace "));
}

/** The statement that messages refer to: one they quote, else one whose element they name. */
function placeIn(lines: readonly string[], deck: Deck): string | null {
  const texts = lines.map(plainText);
  const quoted = deck.statements.find(({ text }) => {
    const plain = plainText(text);
    return plain.includes(" ") && texts.some((line) => line.includes(plain));
  });
  const statement = quoted ?? texts.map((line) => namedIn(line, deck)).find((found) => found !== undefined);
  return statement === undefined ? null : `It is about ${placeOf(statement)}: ${statement.text.slice(0, 120)}`;
}

/** The first statement whose element, model or sub-circuit a message names. A node may share an element's name. */
function namedIn(line: string, deck: Deck): Deck["statements"][number] | undefined {
  const words = new Set(line.split(/[\s'",:;()]+/u));
  return deck.statements.find(({ text }) => {
    const [first = "", second = ""] = text.toLowerCase().split(/\s+/u);
    return words.has(/^\.(?:model|subckt)$/u.test(first) ? second : first) && !first.startsWith(".end");
  });
}

/** A statement as ngspice quotes it: lower case, single spaces. */
const plainText = (text: string): string => text.toLowerCase().replaceAll(/\s+/gu, " ").trim();
