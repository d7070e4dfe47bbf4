/** The content of a SPICE file, parsed line by line. */
export interface Netlist {
  title: string;
  /** Comments before the first element. */
  description: string[];
  subcircuits: { name: string; line: number }[];
  /** `.include`, `.lib` and the `file=` of a `.model`: the file, and a library's section. */
  includes: { path: string; section: string | null; line: number }[];
  /** Number of elements by first letter. */
  components: Record<string, number>;
}

const subcircuit = /^\.subckt\s+(\S+)/iu;
/** A model with its data in a file. */
const modelFile = /^\.model\s.*?\bfile\s*=\s*(?:"([^"]+)"|'([^']+)'|([^\s()]+))/iu;
const include = /^\.(include|inc|lib)\s+(?:"([^"]+)"|'([^']+)'|(\S+))(?:\s+(\S+))?/iu;

/** Parses a SPICE file; lines count from 1, and the first is the title. */
export function readNetlist(text: string): Netlist {
  const lines = text.split(/\r?\n/u);
  const found: Netlist = {
    title: (lines[0] ?? "").trim(),
    description: [],
    subcircuits: [],
    includes: [],
    components: {},
  };
  let hasElements = false;
  for (const [index, written] of lines.entries()) {
    const line = written.trim();
    if (line.startsWith("*")) {
      if (!hasElements && index > 0) found.description.push(line.replace(/^\*+\s*/u, ""));
      continue;
    }
    const named = subcircuit.exec(line)?.[1];
    if (named !== undefined) found.subcircuits.push({ name: named, line: index + 1 });
    const [, , double, single, plain, section] = include.exec(line) ?? [];
    const [, ...model] = modelFile.exec(line) ?? [];
    const path = double ?? single ?? plain ?? model.find((one) => one !== undefined);
    if (path !== undefined) found.includes.push({ path, section: section ?? null, line: index + 1 });
    // The first line is always the title.
    const kind = index > 0 ? /^[a-z]\w/iu.exec(line)?.[0].charAt(0).toUpperCase() : undefined;
    if (kind === undefined) continue;
    hasElements = true;
    found.components[kind] = (found.components[kind] ?? 0) + 1;
  }
  return found;
}

/** A circuit's parts, one line each. */
export function netlistFacts({ title, description, subcircuits, components }: Netlist): string[] {
  const counts = Object.entries(components).map(([kind, count]) => `${kind} ${count}`);
  return [
    title === "" ? null : `Title: ${title}`,
    description.length === 0 ? null : `Comments: ${description.slice(0, 5).join(" ")}`,
    subcircuits.length === 0 ? null : `Sub-circuits: ${subcircuits.map(({ name }) => name).join(", ")}`,
    counts.length === 0 ? null : `Components: ${counts.join(", ")}`,
  ].filter((line) => line !== null);
}
