/** Powers of ten by SPICE suffix, case-insensitive: `m` is milli, `meg` is mega. */
const suffixes: readonly (readonly [string, number])[] = [
  ["meg", 1e6],
  ["mil", 25.4e-6],
  ["t", 1e12],
  ["g", 1e9],
  ["k", 1e3],
  ["m", 1e-3],
  ["u", 1e-6],
  ["µ", 1e-6],
  ["n", 1e-9],
  ["p", 1e-12],
  ["f", 1e-15],
  ["a", 1e-18],
];

/** A number as SPICE writes it: `4.7k`, `1meg`, `10uF`; letters after the suffix are a unit. `undefined` for anything else. */
export function parseSpiceNumber(text: string): number | undefined {
  const [, digits = "", letters = ""] = /^([+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)([a-zµ]*)$/iu.exec(text.trim()) ?? [];
  if (digits === "") return undefined;
  const factor = suffixes.find(([suffix]) => letters.toLowerCase().startsWith(suffix))?.[1] ?? 1;
  const value = Number(digits) * factor;
  return Number.isFinite(value) ? value : undefined;
}
