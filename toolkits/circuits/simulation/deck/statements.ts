/** A statement with its continuation lines, without comments, and its position. Lines count from 1. */
export interface Statement {
  text: string;
  file: string;
  line: number;
}

/** A parsed SPICE file: its title (whole circuits only), its statements, and those between `.control` and `.endc`. */
export interface DeckText {
  title: string;
  statements: Statement[];
  control: Statement[];
}

/**
 * Splits a file into statements up to `.end`. A circuit's first line is always its title; included files have none.
 * Comments are dropped, including those that some programs take for commands (`*#`).
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
  // Runs of blanks mean the same as one, and would slow down the deck's rules.
  return (comment === -1 ? line : line.slice(0, comment)).replaceAll(/\s{20,}/gu, " ").trim();
}

/** A statement's position for people: `amp.cir:12`. */
export function placeOf({ file, line }: Pick<Statement, "file" | "line">): string {
  return `${file}:${line}`;
}
