import { parse } from "yaml";
import { errorMessage } from "@millrace/engine/errors/errors";

/** The head of a Markdown file, and the text after it. */
export type FrontMatter =
  | { kind: "none"; body: string }
  | { kind: "unusable"; problem: string; body: string }
  | { kind: "fields"; fields: unknown; body: string };

/** Maximum characters of YAML: parsing a map is quadratic in its keys. */
const maxFrontLength = 16 * 1024;

const parts = /^\uFEFF?---[ \t]*\r?\n(?:([\s\S]*?)\r?\n)?---[ \t]*(?:\r?\n([\s\S]*))?$/u;

/**
 * Reads YAML between `---` lines at the start of a text. Aliases are refused, since they expand exponentially.
 * `prepare` may fix common mistakes in the YAML.
 */
export function readFrontMatter(text: string, prepare: (yaml: string) => string = (yaml) => yaml): FrontMatter {
  const found = parts.exec(text);
  if (found === null) return { kind: "none", body: text.trim() };
  const [, front = "", after = ""] = found;
  const body = after.trim();
  if (front.length > maxFrontLength) {
    return { kind: "unusable", problem: `its front matter is longer than ${maxFrontLength} characters`, body };
  }
  try {
    return { kind: "fields", fields: parse(prepare(front), { maxAliasCount: 0, logLevel: "error" }), body };
  } catch (error) {
    const problem = `its front matter is not YAML: ${errorMessage(error).split("\n", 1)[0] ?? ""}`;
    return { kind: "unusable", problem, body };
  }
}
