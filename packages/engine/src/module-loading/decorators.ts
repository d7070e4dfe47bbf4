import { createRequire } from "node:module";
import type { transformSync } from "esbuild";
import { addVariables } from "../config/config.ts";

/** Whether a source may have decorators or accessor fields. It is asked of every file, so comments may deceive it. */
export function mayDecorate(text: string): boolean {
  return /^(?![ \t]*(?:\*|\/\/))(?:.*[^\w"'`/.])?@[\w$([]|\baccessor\b/mu.test(text);
}

const member = /^[ \t]*(?:.*\*\/[ \t]*)?(?:export (?:default )?)?@[\w$([]/mu;
const inlineClass = /^(?![ \t]*(?:\*|\/\/)).*@[\w$([].{0,300}\bclass\b/mu;
const accessor = /\baccessor\b/u;

/** Whether code that oxc has written, with each member in a line of its own, still has some. */
export function leavesDecorators(code: string): boolean {
  return [member, inlineClass, accessor].some((sign) => sign.test(code));
}

let lower: typeof transformSync | undefined;

function loadLowering(): typeof transformSync {
  // Else esbuild keeps a thread and a process as long as this process lives, for a few files at its start.
  addVariables({ ESBUILD_WORKER_THREADS: "0" });
  // What a package exports is known by its types, which `require` does not see.
  return (createRequire(import.meta.url)("esbuild") as { transformSync: typeof transformSync }).transformSync;
}

/**
 * JavaScript without the decorators of the standard, which oxc and Node do not know yet. A source map at its end is
 * carried on. Fields that TypeScript assigns need TypeScript's reading, in which nothing else is left to change.
 */
export function lowerDecorators(path: string, code: string, definesFields: boolean): string {
  lower ??= loadLowering();
  return lower(code, {
    loader: definesFields ? "js" : "ts",
    target: "esnext",
    supported: { decorators: false },
    tsconfigRaw: { compilerOptions: { useDefineForClassFields: definesFields, verbatimModuleSyntax: true } },
    sourcefile: path,
    sourcemap: "inline",
    sourcesContent: false,
  }).code;
}
