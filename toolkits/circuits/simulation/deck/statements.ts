/** One line of a deck with those that continue it, without comments, and where it stands. Lines are counted from 1. */
export interface Statement {
  text: string;
  file: string;
  line: number;
}

/** What a file of SPICE says: its title (only of a whole circuit), its statements, and those between `.control` and `.endc`. */
export interface DeckText {
  title: string;
  statements: Statement[];
  control: Statement[];
}

/**
 * Splits a file into statements up to `.end`. The first line of a circuit is always its title; an included file has
 * none. Comments are dropped, also those that some programs take for commands (`*#`).
 */
export function readStatements(text: string, file: string, kind: "circuit" | "part"): DeckText {
  const lines = text.replace(/^\uFEFF/u, "").split(/\r\n|\n|\r/u);
  const found: DeckText = { title: kind === "circuit" ? (lines[0] ?? "").trim() : "", statements: [], control: [] };
  let isControl = false;
  for (const [index, written] of lines.entries()) {
    if (kind === "circuit" && index === 0) continue;
    const line = withoutComment(written);
    if (line === "") continue;
    const into = isControl ? found.control : found.statements;
    const last = into.at(-1);
    if (line.startsWith("+") && last !== undefined) {
      const more = line.slice(1).trim();
      if (more !== "") last.text += ` ${more}`;
      continue;
    }
    if (/^\.end\s*$/iu.test(line)) break;
    if (/^\.control\b/iu.test(line)) isControl = true;
    else if (/^\.endc\b/iu.test(line)) isControl = false;
    else into.push({ text: line, file, line: index + 1 });
  }
  return found;
}

function withoutComment(written: string): string {
  const line = written.trim();
  if (line.startsWith("*") || line.startsWith("$") || line.startsWith("#")) return "";
  const comment = line.search(/;|\s\$\s|\s\/\//u);
  // Many blanks in a row mean what one does, and would keep the rules of a deck busy.
  return (comment === -1 ? line : line.slice(0, comment)).replaceAll(/\s{20,}/gu, " ").trim();
}

/** Where a statement stands, for people: `amp.cir:12`. */
export function placeOf({ file, line }: Pick<Statement, "file" | "line">): string {
  return `${file}:${line}`;
}
