import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";

/** What a module's text says it imports of its own folder. */
const ownImports = /(?:from|import)\s*\(?\s*["'](\.{1,2}\/[^"']+)["']/gu;
/** The files that a written name may mean. */
const endings = ["", ".ts", ".mts", ".js", ".mjs", "/index.ts", "/index.js"];

/** A hash of a module and of all it imports by relative paths: when none of them has changed, their types have not either. */
export function sourceHash(path: string, ...more: string[]): string {
  const hash = createHash("sha256");
  for (const part of more) hash.update(part).update("\0");
  const seen = new Set<string>();
  const add = (file: string): boolean => {
    if (seen.has(file)) return true;
    const text = read(file);
    if (text === undefined) return false;
    seen.add(file);
    hash.update(file).update("\0").update(text).update("\0");
    for (const [, name = ""] of text.matchAll(ownImports)) {
      const written = resolve(dirname(file), name);
      const bare = written.replace(/\.([cm]?)js$/u, ".$1ts");
      // What is not found is no file of ours; the compiler will say so.
      [bare, written].some((base) => endings.some((ending) => add(base + ending)));
    }
    return true;
  };
  add(path);
  return hash.digest("hex");
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}
