import { z } from "zod";
import { isAppError } from "@millrace/engine/errors/errors";
import type { Language } from "@millrace/engine/language";
import { faultsOf } from "../collectors/diagnostics.ts";
import { readAnalysis } from "../simulation/deck/analysis.ts";
import { looksLikeStatement } from "../simulation/deck/deck.ts";
import { checkControl, checkSize, judgeStatement } from "../simulation/deck/deck-rules.ts";
import { readStatements, type Statement } from "../simulation/deck/statements.ts";
import { problemText } from "./problem-words.ts";
import { connections, netlistWarnings } from "./netlist-warnings.ts";

const Part = z.object({
  name: z.string(),
  kind: z.string().describe("The first letter: R, C, L, V, I, D, Q, M, X …"),
  nodes: z.array(z.string()).describe("In lower case, in the order of its pins; ground is 0"),
  value: z.string().describe("The rest of its line: a value, a model or a sub-circuit, parameters"),
  line: z.number().int(),
  subcircuit: z.string().nullable().describe("Where it stands; null: in the circuit itself"),
});
const Net = z.object({
  name: z.string(),
  parts: z.array(z.string()),
  subcircuit: z.string().nullable(),
});
const Problem = z.object({
  line: z.number().int(),
  severity: z.enum(["error", "warning"]),
  message: z.string().describe("In the language of Accept-Language: English or Chinese"),
});

/** A netlist, read but not simulated; lines count from 1. */
export const ParsedNetlist = z
  .object({
    title: z.string(),
    parts: z.array(Part),
    nets: z.array(Net),
    directives: z.array(z.object({ card: z.string(), text: z.string(), line: z.number().int() })),
    problems: z.array(Problem),
  })
  .meta({ ref: "ParsedNetlist" });
export type ParsedNetlist = z.infer<typeof ParsedNetlist>;
type Part = z.infer<typeof Part>;
type Problem = z.infer<typeof Problem>;

/** Problems told of one netlist. */
const maxProblems = 200;

/** Reads the parts, nets and directives of a circuit's own file, and what is wrong with its lines. */
export function parseNetlist(text: string, language: Language): ParsedNetlist {
  const { title, statements, control } = readStatements(text, "", "circuit");
  checkSize(statements);
  const parts: Part[] = [];
  const directives: ParsedNetlist["directives"] = [];
  const open: string[] = [];
  for (const { text: statement, line } of statements) {
    const words = statement.replaceAll(/\s+/gu, " ").replaceAll(/ ?= ?/gu, "=").split(" ");
    const [first = "", second = ""] = words;
    const card = first.toLowerCase();
    if (card.startsWith(".")) directives.push({ card, text: statement, line });
    if (card === ".subckt") open.push(second.toLowerCase());
    else if (card === ".ends") open.pop();
    else if (/^[a-z]/u.test(card)) parts.push(partOf(words, line, open.at(-1) ?? null));
  }
  const problems = problemsOf(text, { title, statements, control, isEmpty: parts.length === 0 });
  return {
    title,
    parts,
    nets: netsOf(parts),
    directives,
    problems: problems
      .slice(0, maxProblems)
      .map((problem) => ({ ...problem, message: problemText(problem.message, language) })),
  };
}

function partOf(words: readonly string[], line: number, subcircuit: string | null): Part {
  const [name = "", ...rest] = words;
  const nodes = connections(words.map((word) => word.toLowerCase())).nodes.map((node) => (node === "gnd" ? "0" : node));
  const value = rest.slice(nodes.length).join(" ");
  return { name, kind: name.charAt(0).toUpperCase(), nodes, value, line, subcircuit };
}

function netsOf(parts: readonly Part[]): ParsedNetlist["nets"] {
  const nets = new Map<string, z.infer<typeof Net>>();
  for (const { name, nodes, subcircuit } of parts) {
    for (const node of new Set(nodes)) {
      const key = JSON.stringify([subcircuit, node]);
      const net = nets.get(key) ?? { name: node, parts: [], subcircuit };
      net.parts.push(name);
      nets.set(key, net);
    }
  }
  return [...nets.values()];
}

function problemsOf(
  text: string,
  circuit: { title: string; statements: Statement[]; control: Statement[]; isEmpty: boolean },
): Problem[] {
  const { title, statements, control, isEmpty } = circuit;
  const faults = faultsOf(text.split(/\r\n|\n|\r/u)).map((fault): Problem => ({ ...fault, severity: "error" }));
  const warnings = netlistWarnings(text).map(({ line, message }): Problem => ({
    line,
    severity: "warning",
    message: message.replace(/^warning: /u, ""),
  }));
  const refused = [
    ...statements.flatMap((one) => refusalOf(one, () => judge(one))),
    ...control.flatMap((one) => refusalOf(one, () => checkControl([one]))),
  ];
  const isTitle = looksLikeStatement.test(title);
  const all: Problem[] = [
    ...(isTitle ? [{ line: 1, severity: "warning", message: "the first line is the title, not a part" } as const] : []),
    ...(isEmpty ? [{ line: 1, severity: "error", message: "the file holds no element of a circuit" } as const] : []),
    ...faults,
    ...refused,
    ...warnings,
  ];
  return all.toSorted((one, other) => one.line - other.line);
}

function judge(statement: Statement): void {
  if (judgeStatement(statement) === "analysis") readAnalysis(statement.text, `:${statement.line}`);
}

/** What the simulator's rules say against a statement. */
function refusalOf({ line }: Statement, look: () => void): Problem[] {
  try {
    look();
    return [];
  } catch (error) {
    if (!isAppError(error)) throw error;
    return [{ line, severity: "error", message: error.message.replace(/^:\d+: /u, "") }];
  }
}
