import { AppError } from "@millrace/engine/errors/errors";
import { isAnalysis } from "./analysis.ts";
import { placeOf, type Statement } from "./statements.ts";

/** The treatment of a statement: part of the circuit, handled by us, or dropped. */
export type Ruling = "keep" | "include" | "analysis" | "leave_out";

/** Cards that describe the circuit. Other dot cards are dropped, so that new commands are not run either. */
const circuitCards = new Set(
  ".model .subckt .ends .param .params .func .global .ic .nodeset .if .elseif .else .endif .temp .options .option .opt .meas .measure".split(
    " ",
  ),
);
/** Cards for output only; dropping them does not change the circuit. */
const otherCards = new Set(
  ".print .plot .probe .save .four .width .title .backanno .sens .tf .pz .disto .sp .pss .hb .endl .prot .unprot".split(
    " ",
  ),
);
/** Control commands that only run, show or compute: the program does that itself. */
const harmlessCommands = new Set(
  "run op dc ac tran noise plot print meas measure let set unset setplot display save show showmod listing reset destroy quit exit rusage status version linearize fft psd fourier spec settype setscale unlet echo if else end while repeat dowhile foreach continue break strcmp".split(
    " ",
  ),
);
/** Shell-like output redirection; a comparison with a number does not match. */
const redirection = /[<>|]&?\s*(?!\d+\s*\)?\s*$)["'\w./~-]+\s*$/u;
/** Allowed simulator options; others are dropped. */
const knownOptions = new Set(
  "abstol reltol vntol chgtol trtol gmin pivtol pivrel itl1 itl2 itl4 itl5 itl6 temp tnom method maxord defl defw defad defas rshunt cshunt cmin gminsteps srcsteps noopiter savecurrents minbreak autostop scale rseries maxevtiter maxopalter absdv absdx xmu warn interp noinit".split(
    " ",
  ),
);

/** Maximum characters of a statement, and statements of a circuit. */
const [maxStatementLength, maxStatements] = [20_000, 50_000];

/**
 * Decides about a statement. A deck is a program: it may open files, load code and, in its control section, start
 * programs. Only the circuit's description is passed on. Throws `permission` for anything that reaches outside.
 */
export function judgeStatement(statement: Statement): Ruling {
  const { text } = statement;
  const [first = ""] = text.toLowerCase().split(/[\s(=]/u);
  checkCharacters(statement);
  if (/^\.(?:include|inc|lib)$/u.test(first)) return "include";
  if (isAnalysis(text) && text.startsWith(".")) return "analysis";
  if (otherCards.has(first)) return "leave_out";
  if (circuitCards.has(first)) {
    // Only known options are passed on.
    if (!first.startsWith(".opt")) checkModel(statement);
    return "keep";
  }
  if (first.startsWith(".")) {
    throw refused(statement, `${first} is no card of a circuit`, "Remove it.");
  }
  if (/^[an]/u.test(first)) {
    throw refused(
      statement,
      `${first} is a device of compiled code, which is not loaded`,
      "Use resistors, capacitors, sources, transistors, switches, or B sources with an expression.",
    );
  }
  if (!/^[a-z]/u.test(first)) throw refused(statement, `"${first}" is no element`, "An element begins with a letter.");
  checkFiles(statement);
  return "keep";
}

/** Throws `permission` for a control command that does more than run, show or compute. */
export function checkControl(commands: readonly Statement[]): void {
  for (const statement of commands) {
    checkCharacters(statement);
    const [command = ""] = statement.text.toLowerCase().split(/[\s(=;|&<>]/u);
    if (!harmlessCommands.has(command) || redirection.test(statement.text)) {
      throw refused(
        statement,
        `the command "${command.slice(0, 40)}" of the control part may reach files or programs`,
        "Remove the control part: the analyses are run, and figures and plots are made, without it.",
      );
    }
  }
}

/** A card's known options, and the names of the dropped ones. */
export function knownOptionsOf(text: string): { card: string | null; left: string[] } {
  const words = text
    .replace(/^\S+/u, "")
    .replaceAll(/\s*=\s*/gu, "=")
    .split(/[\s,]+/u)
    .filter((word) => word !== "");
  const isKnown = (word: string): boolean => {
    const [name = "", value = ""] = word.toLowerCase().split("=");
    return knownOptions.has(name) && /^[\w.+-]*$/u.test(value);
  };
  const kept = words.filter(isKnown);
  return {
    card: kept.length === 0 ? null : `.options ${kept.join(" ")}`,
    left: words.filter((word) => !isKnown(word)).map((word) => (word.split("=")[0] ?? "").slice(0, 40)),
  };
}

/** Throws `too_large` for an implausibly large circuit. */
export function checkSize(statements: readonly Statement[]): void {
  if (statements.length > maxStatements) {
    throw new AppError(
      "too_large",
      `The circuit has ${statements.length} statements, at most ${maxStatements} are read.`,
      {
        suggestion: "Simulate a part of it.",
      },
    );
  }
}

function checkCharacters(statement: Statement): void {
  const { text } = statement;
  if (text.length > maxStatementLength) {
    throw new AppError(
      "too_large",
      `${placeOf(statement)}: the statement has more than ${maxStatementLength} characters.`,
      {
        suggestion: "Split it up.",
      },
    );
  }
  if (text.includes("`")) throw refused(statement, "a backquote runs a command", "Remove it.");
  if (/[\p{Cc}--\t]/v.test(text)) throw refused(statement, "it holds a control character", "Write plain text.");
}

/** Compiled-code models, which open files or start programs. */
const codeModels =
  /^\.model\s+\S+\s+(?:d_\w+|a2d\w*|d2a\w*|adc_bridge|dac_bridge|filesource|file_source|table[23]d|xfer|spice2poly|\w*process)\b/iu;

function checkModel(statement: Statement): void {
  if (codeModels.test(statement.text)) {
    throw refused(statement, "a model of compiled code is not loaded", "Use a device that SPICE knows, or a B source.");
  }
  checkFiles(statement);
}

function checkFiles(statement: Statement): void {
  const names = statement.text.match(/(?<!\w)\w+\s?=|(?<!\w)file\s?["'(]/giu) ?? [];
  const named = names.find((name) => /file|path|osdi/iu.test(name));
  if (named !== undefined) {
    throw refused(
      statement,
      `"${named.trim()}" names a file that would be opened`,
      "Write the values into the circuit.",
    );
  }
}

function refused(statement: Statement, why: string, suggestion: string): AppError {
  return new AppError("permission", `${placeOf(statement)}: refused, ${why}.`, { suggestion });
}
