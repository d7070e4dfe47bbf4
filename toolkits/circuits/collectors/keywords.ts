/** The names in a request by kind, each once, in order. */
export interface Keywords {
  devices: string[];
  subcircuits: string[];
  files: string[];
  metrics: string[];
  nodes: string[];
  others: string[];
  /** The rest of the request without stop words, for semantic search. */
  semantic_query: string;
}

const kinds: readonly { kind: Exclude<keyof Keywords, "semantic_query">; pattern: RegExp }[] = [
  { kind: "files", pattern: /(?<![\w./-])[\w./-]*\w\.(?:cir|sp|spice|sub|inc|lib|mod|json|csv|txt|md)\b/giu },
  { kind: "subcircuits", pattern: /(?<=\.?\b(?:subckt|sub-?circuits?|子电路)\s+)\w+/giu },
  { kind: "devices", pattern: /\b[RCLQMDVIX]\d+[a-z]?\b/gu },
  {
    kind: "metrics",
    pattern:
      /\b(?:gain|bandwidth|phase|margin|impedance|slew|cmrr|psrr|gbw|noise|offset|distortion|thd|ripple|frequency)\b/giu,
  },
  { kind: "nodes", pattern: /\b(?:V[A-Za-z]{2}\w*|GND|0|net_\w+|n_\w+|[A-Z][A-Z0-9_]+)\b/gu },
  { kind: "others", pattern: /\b(?:[A-Za-z]\w*_\w+|[A-Za-z]+\d\w*|[a-z]+[A-Z]\w*)\b/gu },
];

const stopWords = new Set(
  (
    "a an and are as at be but by can could do does for from has have how i if in is it its me my not of on or our " +
    "please should so than that the then there this to was we what when where which who why will with would you your"
  ).split(" "),
);

/** Extracts the names in a request. A word belongs to the first kind it matches. Reads at most 10,000 characters. */
export function extractKeywords(request: string): Keywords {
  const found: Keywords = {
    devices: [],
    subcircuits: [],
    files: [],
    metrics: [],
    nodes: [],
    others: [],
    semantic_query: "",
  };
  let rest = request.slice(0, 10_000);
  for (const { kind, pattern } of kinds) {
    rest = rest.replace(pattern, (name) => {
      if (!found[kind].includes(name)) found[kind].push(name);
      return " ";
    });
  }
  const words = rest.match(/[\p{L}\p{N}]+/gu) ?? [];
  found.semantic_query = words.filter((word) => !stopWords.has(word.toLowerCase())).join(" ");
  return found;
}

/** Search terms in order; ubiquitous names are left out. */
export function searchTerms({ devices, subcircuits, files, metrics, nodes, others }: Keywords): string[] {
  return [...devices, ...subcircuits, ...files, ...metrics, ...nodes, ...others].filter((term) => term.length > 1);
}
