import { parse } from "yaml";
import { errorMessage } from "@millrace/engine/errors/errors";

/** The head of a Markdown file, and the text after it. */
export type FrontMatter =
  | { kind: "none"; body: string }
  | { kind: "unusable"; problem: string; body: string }
  | { kind: "fields"; fields: unknown; body: string };

/** Characters of YAML that are read: a map is checked key by key against all others. */
const longestFront = 16 * 1024;

const parts = /^\uFEFF?---[ \t]*\r?\n(?:([\s\S]*?)\r?\n)?---[ \t]*(?:\r?\n([\s\S]*))?$/u;

/**
 * Reads YAML between lines of `---` at the beginning of a text. References are refused: they let a small text become a
 * huge value. `prepare` may mend the YAML where users commonly write what it does not take.
 */
export function readFrontMatter(text: string, prepare: (yaml: string) => string = (yaml) => yaml): FrontMatter {
  const found = parts.exec(text);
  if (found === null) return { kind: "none", body: text.trim() };
  const [, front = "", after = ""] = found;
  const body = after.trim();
  if (front.length > longestFront) {
    return { kind: "unusable", problem: `its front matter is longer than ${longestFront} characters`, body };
  }
  try {
    return { kind: "fields", fields: parse(prepare(front), { maxAliasCount: 0, logLevel: "error" }), body };
  } catch (error) {
    const problem = `its front matter is not YAML: ${errorMessage(error).split("\n", 1)[0] ?? ""}`;
    return { kind: "unusable", problem, body };
  }
}
