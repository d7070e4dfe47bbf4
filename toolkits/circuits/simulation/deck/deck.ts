import { dirname, join, normalize } from "node:path/posix";
import { AppError } from "@millrace/engine/errors/errors";
import { isAnalysis, readAnalysis, type Analysis } from "./analysis.ts";
import { checkControl, checkSize, judgeStatement, knownOptionsOf } from "./deck-rules.ts";
import { placeOf, readStatements, type Statement } from "./statements.ts";

/** A self-contained circuit that is safe to simulate. */
export interface Deck {
  title: string;
  statements: Statement[];
  /** The requested analyses, each once, in order. */
  analyses: Analysis[];
  /** Notes on what was dropped or is rarely intended. */
  notes: string[];
}

/** Returns a workspace file's text by path. Throws what prevents reading it. */
export type ReadDeckFile = (path: string) => Promise<string>;

/** Maximum include depth, number of files, and total characters. */
const [maxLevels, maxFiles, maxCharacters] = [10, 100, 4_000_000];

/** Model cards built into the simulator. */
const builtIn =
  /^modelcard\.(?:freepdk45|pdk15|ptmlp|ptmhp|ptm|skywater|cmos90|gf180(?:\.(?:typical|ff|ss|fs|sf))?)$/iu;

/**
 * A first line that was probably not meant as a title: an element with a common name, two nodes and a value, or a card.
 */
export const looksLikeStatement =
  /^(?:[rclvidqmxbefgh](?:\d\w*|\w{0,4}(?=.*\d))\s+\w+\s+\w+\s+\S+|\.(?:op|ac|dc|tran|model|subckt|include|lib|param)\b)/iu;

interface Reading {
  read: ReadDeckFile;
  deck: Deck;
  leftOut: Set<string>;
  files: number;
  characters: number;
}

/**
 * Reads a circuit with its includes, which must be in the workspace. Throws `permission` for anything that reaches
 * outside the circuit, `not_found` for a missing file, `invalid_parameter` for include cycles and invalid analyses, and
 * `too_large`.
 */
export async function prepareDeck(path: string, read: ReadDeckFile): Promise<Deck> {
  const deck: Deck = { title: "", statements: [], analyses: [], notes: [] };
  const reading: Reading = { read, deck, leftOut: new Set(), files: 0, characters: 0 };
  const text = await readPart(path, reading);
  const circuit = readStatements(text, path, "circuit");
  deck.title = circuit.title;
  if (looksLikeStatement.test(circuit.title)) {
    deck.notes.push(`The first line is the title, not a part of the circuit: "${circuit.title.slice(0, 60)}".`);
  }
  checkControl(circuit.control);
  await take(circuit.statements, [path], reading);
  takeControl(circuit.control, deck);
  checkSize(deck.statements);
  if (reading.leftOut.size > 0) deck.notes.push(`Left out: ${[...reading.leftOut].slice(0, 12).join(", ")}.`);
  if (!deck.statements.some(({ text: one }) => /^[a-z]/iu.test(one))) {
    throw new AppError("invalid_parameter", `"${path}" holds no element of a circuit.`, {
      suggestion: "The first line of a circuit is its title; the elements follow from the second line on.",
    });
  }
  return deck;
}

/** The input of the simulator: one statement a line, one analysis, and a title that identifies its result. */
export function deckText(deck: Deck, analysis: Analysis, title: string): string {
  const isMeasured = (text: string): boolean => new RegExp(`^\\.meas(?:ure)?\\s+${analysis.type}\\b`, "iu").test(text);
  const lines = deck.statements.map(({ text }) => text).filter((text) => !/^\.meas/iu.test(text) || isMeasured(text));
  return [title, ...lines, analysis.card, ".end", ""].join("\n");
}

async function take(statements: readonly Statement[], way: readonly string[], reading: Reading): Promise<void> {
  const { deck, leftOut } = reading;
  for (const statement of statements) {
    const [card = ""] = statement.text.toLowerCase().split(/[\s(=]/u);
    switch (judgeStatement(statement)) {
      case "include":
        await include(statement, way, reading);
        break;
      case "analysis":
        addAnalysis(deck, readAnalysis(statement.text, placeOf(statement)));
        break;
      case "leave_out":
        leftOut.add(card);
        break;
      case "keep":
        keep(statement, card, reading);
        break;
    }
  }
}

function keep(statement: Statement, card: string, { deck, leftOut }: Reading): void {
  if (!card.startsWith(".opt")) {
    deck.statements.push(statement);
    return;
  }
  const { card: known, left } = knownOptionsOf(statement.text);
  for (const name of left) leftOut.add(`option ${name}`);
  if (known !== null) deck.statements.push({ ...statement, text: known });
}

function addAnalysis(deck: Deck, analysis: Analysis): void {
  if (!deck.analyses.some(({ card }) => card.toLowerCase() === analysis.card.toLowerCase()))
    deck.analyses.push(analysis);
}

/** Runs what the control section would run; the rest of it only shows results. */
function takeControl(control: readonly Statement[], deck: Deck): void {
  if (control.length === 0) return;
  deck.notes.push("The control part is left out: its analyses are run without it.");
  for (const statement of control) {
    if (isAnalysis(statement.text)) addAnalysis(deck, readAnalysis(statement.text, placeOf(statement)));
  }
}

const reference = /^\.\w+\s+(?:"([^"]+)"|'([^']+)'|(\S+))(?:\s+(\S+))?\s*$/u;

async function include(statement: Statement, way: readonly string[], reading: Reading): Promise<void> {
  const [, double, single, plain, section] = reference.exec(statement.text) ?? [];
  const named = double ?? single ?? plain;
  if (named === undefined) {
    throw new AppError(
      "invalid_parameter",
      `${placeOf(statement)}: one file is expected behind ${statement.text.split(/\s/u)[0]}.`,
    );
  }
  if (builtIn.test(named)) {
    reading.deck.statements.push({ ...statement, text: `.include ${named}` });
    return;
  }
  const path = placeIn(named, statement);
  if (way.includes(path)) {
    throw new AppError(
      "invalid_parameter",
      `${placeOf(statement)}: the files include each other: ${[...way, path].join(" → ")}.`,
      {
        suggestion: "Remove one of the includes.",
      },
    );
  }
  reading.files += 1;
  if (way.length > maxLevels || reading.files > maxFiles) {
    throw new AppError(
      "too_large",
      `${placeOf(statement)}: at most ${maxFiles} files are included, ${maxLevels} deep.`,
    );
  }
  const part = readStatements(await readPart(path, reading), path, "part");
  checkControl(part.control);
  const isLibrary = /^\.lib\b/iu.test(statement.text);
  await take(
    isLibrary && section !== undefined ? sectionOf(part.statements, section, statement, path) : part.statements,
    [...way, path],
    reading,
  );
}

/** The path of an included file, relative to the including file. */
function placeIn(named: string, statement: Statement): string {
  const path = normalize(join(dirname(statement.file), named));
  if (/^(?:[/\\~]|[a-z]:)|[$\\]/iu.test(named) || path.startsWith("..")) {
    throw new AppError(
      "permission",
      `${placeOf(statement)}: refused, "${named.slice(0, 120)}" is not in the workspace.`,
      {
        suggestion: "Put the file into the workspace and name it from there.",
      },
    );
  }
  return path;
}

async function readPart(path: string, reading: Reading): Promise<string> {
  const text = await reading.read(path);
  reading.characters += text.length;
  if (reading.characters <= maxCharacters) return text;
  throw new AppError("too_large", `The circuit has more than ${maxCharacters} characters with its files.`, {
    suggestion: "Include only the models that are used.",
  });
}

/** The statements of one library section: from `.lib <name>` to `.endl`. */
function sectionOf(
  statements: readonly Statement[],
  section: string,
  from: Statement,
  path: string,
): readonly Statement[] {
  const begin = statements.findIndex(({ text }) => {
    const [, , , name, more] = reference.exec(text) ?? [];
    return /^\.lib\b/iu.test(text) && more === undefined && name?.toLowerCase() === section.toLowerCase();
  });
  if (begin < 0) {
    throw new AppError("not_found", `${placeOf(from)}: "${path}" has no section ${section}.`, {
      suggestion: "Look at the .lib lines of that file.",
    });
  }
  const end = statements.findIndex(({ text }, index) => index > begin && /^\.endl\b/iu.test(text));
  return statements.slice(begin + 1, end < 0 ? undefined : end);
}
