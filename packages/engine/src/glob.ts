import { z } from "zod";
import { RE2JS } from "re2js";

/**
 * A matcher for a file pattern: `*` and `?` within a name, `**` across folders, `[a-z]`, `{a,b}`. A pattern without `/`
 * matches the name, one with `/` the whole path; case-insensitive by default. Runs in linear time for any pattern: the
 * usual libraries build a backtracking regular expression (`*a*a*a*a*a*b` on 80 letters: 2.3 s).
 */
export function toGlob(pattern: string, { caseSensitive = false } = {}): (path: string) => boolean {
  const flags = caseSensitive ? RE2JS.DOTALL : RE2JS.CASE_INSENSITIVE | RE2JS.DOTALL;
  const compiled = RE2JS.compile(translate(pattern.replace(/^\.\//, "")), flags);
  const isOnPath = pattern.includes("/");
  return (path) => compiled.matches(isOnPath ? path : path.slice(path.lastIndexOf("/") + 1));
}

function translate(pattern: string): string {
  const pieces = pattern.match(/\*\*\/|\*\*|\*|\?|\[[!^]?[^\]/]+\]|\{[^{}]*\}|[^]/gu) ?? [];
  return pieces.map(translatePiece).join("");
}

function translatePiece(piece: string): string {
  if (piece === "**/") return "(?:.*/)?";
  if (piece === "**") return ".*";
  if (piece === "*") return "[^/]*";
  if (piece === "?") return "[^/]";
  if (piece.length > 1 && piece.startsWith("[")) {
    const isNot = /^\[[!^]/.test(piece);
    const members = piece.slice(isNot ? 2 : 1, -1).replace(/[\\[\]^&]/g, "\\$&");
    return `[${isNot ? "^/" : ""}${members}]`;
  }
  if (piece.length > 1 && piece.startsWith("{")) {
    return `(?:${piece.slice(1, -1).split(",").map(translate).join("|")})`;
  }
  return RE2JS.quote(piece);
}

function isPattern(pattern: string): boolean {
  try {
    toGlob(pattern, { caseSensitive: true });
    return true;
  } catch {
    return false;
  }
}

/** A pattern for workspace paths: `*`, `?`, `**`, `[a-z]`, `{a,b}`; without `/` it matches the name alone. */
export const PathPattern = z
  .string()
  .trim()
  .min(1)
  .max(200)
  .refine(isPattern, { error: "expected a file pattern such as drafts/**/*.txt" });
