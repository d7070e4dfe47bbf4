/** A line (from 1) that is valid but rarely intended. */
export interface NetlistWarning {
  line: number;
  message: string;
}

/** Number of node arguments by an element's first letter; other elements have no fixed form. */
const shapes: readonly (readonly [kinds: string, nodes: number])[] = [
  ["RCLVIDBFHW", 2],
  ["QJZ", 3],
  ["EGMSTO", 4],
];
/** Replaces the nodes of a behavioural source, whose formula is not parsed. */
const formula = /^(?:poly|value|table|laplace|freq|cur|vol)\b/u;
const ground = ["0", "gnd"];

/** The top level or a sub-circuit: how often its nodes are used, and where first. */
interface Scope {
  nodes: Map<string, { line: number; uses: number }>;
}

/**
 * Nodes with only one connection, and unused sub-circuits. At the top level, nodes are checked only if no file is
 * included, since that may connect them; unused sub-circuits only if the file is more than a library.
 */
export function netlistWarnings(text: string): NetlistWarning[] {
  const [top, used]: [Scope, Set<string>] = [{ nodes: new Map() }, new Set()];
  const [scopes, open]: [Scope[], Scope[]] = [[], []];
  const defined: { name: string; line: number }[] = [];
  const everywhere = new Set(ground);
  let isPart = false;
  let hasElements = false;
  for (const { line, words } of statements(text)) {
    const [first = "", second = ""] = words;
    const scope = open.at(-1) ?? top;
    if (/^\.(?:include|inc|lib)$/u.test(first)) isPart = true;
    if (first === ".global") for (const node of words.slice(1)) everywhere.add(node);
    if (first === ".subckt") {
      const inner: Scope = { nodes: new Map() };
      open.push(inner);
      scopes.push(inner);
      defined.push({ name: second, line });
      // Ports of a sub-circuit are connected outside.
      for (const port of words.slice(2)) use(inner, port, line, 2);
    } else if (first === ".ends") open.pop();
    if (!/^[a-z]/u.test(first)) continue;
    hasElements ||= scope === top;
    const { subcircuit, formula: unclear = [] } = connect(scope, words, line);
    for (const word of unclear) everywhere.add(word);
    if (subcircuit !== undefined) used.add(subcircuit);
  }
  const looked = isPart || !hasElements ? scopes : [top, ...scopes];
  const unused = hasElements ? defined.filter(({ name }) => !used.has(name)) : [];
  return [
    ...looked.flatMap((scope) => floating(scope, everywhere)),
    ...unused.map(({ name, line }) => ({ line, message: `warning: the sub-circuit ${name} is not used in this file` })),
  ];
}

function floating({ nodes }: Scope, everywhere: ReadonlySet<string>): NetlistWarning[] {
  return [...nodes]
    .filter(([node, { uses }]) => uses === 1 && !everywhere.has(node))
    .map(([node, { line }]) => ({ line, message: `warning: only one element is connected to the node ${node}` }));
}

function use({ nodes }: Scope, node: string, line: number, uses: number): void {
  const known = nodes.get(node);
  nodes.set(node, { line: known?.line ?? line, uses: (known?.uses ?? 0) + uses });
}

/** Counts an element's connections and measurements. */
function connect(scope: Scope, words: readonly string[], line: number): ReturnType<typeof connections> {
  const found = connections(words);
  for (const node of found.nodes) use(scope, node, line, 1);
  for (const [, node = ""] of words.join(" ").matchAll(/\bv\(\s*([^\s,()]+)/gu)) use(scope, node, line, 1);
  return found;
}

/** An element's nodes, and its sub-circuit if it instantiates one; the words are in lower case. */
export function connections(words: readonly string[]): {
  nodes: readonly string[];
  subcircuit?: string;
  formula?: readonly string[];
} {
  const [name = "", ...given] = words;
  const kind = name.charAt(0).toUpperCase();
  const end = given.findIndex((word) => word.includes("=") || word === "params:");
  const plain = end === -1 ? given : given.slice(0, end);
  if (kind === "X") {
    const subcircuit = plain.at(-1);
    return { nodes: plain.slice(0, -1), ...(subcircuit === undefined ? {} : { subcircuit }) };
  }
  const count = shapes.find(([kinds]) => kinds.includes(kind))?.[1] ?? 0;
  if (/[EG]/u.test(kind) && formula.test(plain[2] ?? "")) return { nodes: plain.slice(0, 2), formula: plain.slice(2) };
  // A transistor's substrate is optional; the last word is its model.
  const hasModel = kind === "Q" || kind === "M";
  return { nodes: plain.slice(0, hasModel ? Math.min(4, Math.max(3, plain.length - 1)) : count) };
}

/** The statements in lower case, with continuations, without title, comments and `.control` sections. */
function* statements(text: string): Generator<{ line: number; words: string[] }> {
  let [firstLine, whole, isControl] = [0, "", false];
  const split = (): string[] => whole.trim().replaceAll(/\s+/gu, " ").replaceAll(/ ?= ?/gu, "=").split(" ");
  for (const [index, written] of text.split(/\r?\n/u).entries()) {
    const line = written
      .replace(/[;$] .*$|;.*$/u, "")
      .trim()
      .toLowerCase();
    if (index === 0 || line === "" || line.startsWith("*")) continue;
    if (line.startsWith("+")) {
      whole += ` ${line.slice(1)}`;
      continue;
    }
    if (whole !== "") yield { line: firstLine, words: split() };
    whole = "";
    if (line === ".end") return;
    if (/^\.(?:control|endc)\b/u.test(line)) isControl = line.startsWith(".control");
    else if (!isControl) [firstLine, whole] = [index + 1, line];
  }
  if (whole !== "") yield { line: firstLine, words: split() };
}
