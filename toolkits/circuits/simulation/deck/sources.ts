import type { Deck } from "./deck.ts";
import { parseSpiceNumber } from "./spice-number.ts";

/** An independent source at the top level. Names and nodes are in lower case. */
export interface Source {
  name: string;
  kind: "voltage" | "current";
  plus: string;
  minus: string;
  /** Its AC magnitude; 0 without one. */
  ac: number;
  /** Start and end of its first step, and the start of the next, in seconds. */
  step: { from: number; to: number } | null;
  /** The frequency of its sine in hertz. */
  frequency: number | null;
}

/** The sources of a circuit, without those in sub-circuits. */
export function sourcesOf({ statements }: Deck): Source[] {
  let depth = 0;
  const found: Source[] = [];
  for (const { text } of statements) {
    if (/^\.subckt\b/iu.test(text)) depth += 1;
    else if (/^\.ends\b/iu.test(text)) depth -= 1;
    else if (depth === 0 && /^[vi]/iu.test(text)) found.push(readSource(text.toLowerCase()));
  }
  return found;
}

/** The circuit with other AC signals: the named sources get these magnitudes, all others none. */
export function withSignals(deck: Deck, sizes: Readonly<Record<string, number>>): Deck {
  let depth = 0;
  const statements = deck.statements.map((statement) => {
    const { text } = statement;
    if (/^\.subckt\b/iu.test(text)) depth += 1;
    else if (/^\.ends\b/iu.test(text)) depth -= 1;
    if (depth > 0 || !/^[vi]/iu.test(text)) return statement;
    const plain = text.replace(acPart, "");
    const size = sizes[(text.split(/\s/u)[0] ?? "").toLowerCase()] ?? 0;
    return { ...statement, text: size === 0 ? plain : `${plain} ac ${Math.abs(size)} ${size < 0 ? 180 : 0}` };
  });
  return { ...deck, statements };
}

const acPart = /\s+ac\b(?:\s*=?\s*(?:[+-]?[\d.]\w*|\{[^}]*\})){0,2}/iu;

function readSource(text: string): Source {
  const [name = "", plus = "", minus = ""] = text.split(/\s+/u);
  const [ac] = acPart.exec(text) ?? [];
  const size = /\bac\s*=?\s*([^\s]+)/u.exec(ac ?? "")?.[1];
  const pulse = argumentsOf(text, "pulse");
  const [, , delay = 0, rise = 0, , width = Infinity, period = Infinity] = pulse ?? [];
  return {
    name,
    kind: name.startsWith("v") ? "voltage" : "current",
    plus,
    minus,
    ac: ac === undefined ? 0 : size === undefined ? 1 : (parseSpiceNumber(size) ?? 1),
    step: pulse === undefined ? null : { from: delay, to: delay + Math.min(rise + width, period) },
    frequency: argumentsOf(text, "sin")?.[2] ?? null,
  };
}

/** The numbers of a shape such as `pulse(0 1 …)`; `undefined` without a shape, or if one is not a number. */
function argumentsOf(text: string, shape: "pulse" | "sin"): number[] | undefined {
  const [, inner] = new RegExp(`\\b${shape}\\s*\\(?([^()]*)\\)?`, "u").exec(text) ?? [];
  const numbers = inner
    ?.split(/[\s,]+/u)
    .filter((word) => word !== "")
    .map(parseSpiceNumber);
  return numbers?.every((value) => value !== undefined) === true
    ? numbers.filter((value) => value !== undefined)
    : undefined;
}
