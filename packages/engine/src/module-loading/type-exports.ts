import type { Export, parse } from "es-module-lexer";

/** The TypeScript file that an import of the file `from` means; `undefined` for anything else. */
export type TargetOf = (specifier: string, from: string) => string | undefined;

/** What is asked of other modules. */
interface OtherModules {
  lexed: (code: string, path: string) => ReturnType<typeof parse>;
  targetOf: TargetOf;
  namesOf: (path: string) => ReadonlySet<string> | "unknown";
}

type Reexport = Extract<Export, { type: "reexport" }>;

/**
 * The module without the types that it passes on (`export { State } from "./state.js"`), which are gone when it runs:
 * only the other module says that a name is one. What is removed becomes spaces, so places in the text stay.
 */
export function withoutTypeExports(code: string, path: string, { lexed, targetOf, namesOf }: OtherModules): string {
  const [imports, exports] = lexed(code, path);
  const types = exports.filter((one): one is Reexport => {
    if (one.type !== "reexport" || one.importName === null) return false;
    const target = targetOf(one.from, path);
    const names = target === undefined ? "unknown" : namesOf(target);
    return names !== "unknown" && !names.has(one.importName);
  });
  let text = code;
  const blank = (start: number, end: number): void => {
    text = `${text.slice(0, start)}${" ".repeat(end - start)}${text.slice(end)}`;
  };
  for (const type of types) {
    const before = /(?:[\w$]+\s+as\s+)?$/u.exec(code.slice(type.exportStart, type.start))?.[0] ?? "";
    blank(type.start - before.length, endWithComma(code, type.end));
    const statement = imports[type.importIndex];
    const isSeparate = statement !== undefined && statement.importStart !== type.exportStart;
    if (!isSeparate) continue;
    if (type.importNameStart >= 0) {
      const renamed = /^\s+as\s+[\w$]+/u.exec(code.slice(type.importNameEnd))?.[0] ?? "";
      blank(type.importNameStart, endWithComma(code, type.importNameEnd + renamed.length));
    } else {
      // A default import alone: the module is still run.
      const words = /^import(\s+[\w$]+\s+from)\b/u.exec(code.slice(statement.importStart))?.[1];
      if (words !== undefined) blank(statement.importStart + 6, statement.importStart + 6 + words.length);
    }
  }
  return text;
}

function endWithComma(code: string, end: number): number {
  return end + (/^\s*,/u.exec(code.slice(end))?.[0].length ?? 0);
}
