import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname } from "node:path";
import { pathToFileURL } from "node:url";
import type { Export, parse } from "es-module-lexer";
import type { JsxOptions, TransformOptions, transformSync } from "oxc-transform";
import { AppError } from "../errors/errors.ts";
import type { CompilerOptions, FileSettings } from "./tsconfig.ts";
import type { transformSync as transformWithEsbuild } from "esbuild";
import { addVariables } from "../config/config.ts";

/** The specifier under which a transformed module finds CommonJS globals. */
export const commonJsScope = "millrace:commonjs";

/** A TypeScript or JSX module in a form Node runs. */
export interface RunnableModule {
  source: string;
  format: "module" | "commonjs";
}

/** Compiles users' files for Node. */
export interface Transformer {
  /** Throws `config` with file, line and reason for invalid TypeScript. */
  run: (path: string, packageType: PackageType) => RunnableModule;
  /**
   * Whether the file at `path` default-imports a package whose ES module, at `target`, has no default: its author means
   * the whole CommonJS version, as compilers do.
   */
  wantsCommonJs: (path: string, specifier: string, target: string) => boolean;
}

/** The module type in the nearest `package.json`. */
export type PackageType = "module" | "commonjs";

interface Tools {
  transform: typeof transformSync;
  lex: typeof parse;
}

/** Loaded with the first module that needs them; most servers need none. */
function loadTools(): Tools {
  const load = createRequire(import.meta.url);
  // A package's exports are known by its types, which `require` does not see.
  const { transformSync: transform } = load("oxc-transform") as { transformSync: typeof transformSync };
  const { parse: lex } = load("es-module-lexer") as { parse: typeof parse };
  return { transform, lex };
}

/** A transformer with each file's settings; `targetOf` resolves the TypeScript file of an import. */
export function createTransformer(settings: (folder: string) => FileSettings, targetOf: TargetOf): Transformer {
  let tools: Tools | undefined;
  const exported = new Map<string, ReadonlySet<string> | "unknown">();
  const toJavaScript = (path: string, options: TransformOptions = {}): string => {
    tools ??= loadTools();
    const text = readFileSync(path, "utf8");
    const { options: compiler } = settings(dirname(path));
    const { transform } = tools;
    const transformed = (definesFields: boolean): string => {
      const all = { ...transformOptions(path, compiler, definesFields), ...options };
      const { code, map, errors } = transform(path, text, all);
      const error = errors.find(({ severity }) => severity === "Error");
      if (error !== undefined) throw syntaxError(path, text, error.message, error.labels[0]?.start ?? 0);
      const withMap = { ...map, sources: [pathToFileURL(path).href], sourcesContent: undefined };
      return `${code}\n//# sourceMappingURL=data:application/json;base64,${Buffer.from(JSON.stringify(withMap)).toString("base64")}`;
    };
    const definesFields = hasDefinedFields(compiler);
    // Fields stay unchanged until their decorators are lowered.
    const mayLower = compiler.experimentalDecorators !== true && mayDecorate(text);
    const code = transformed(definesFields || mayLower);
    if (mayLower && leavesDecorators(code)) return lowerDecorators(path, code, definesFields);
    return mayLower && !definesFields ? transformed(false) : code;
  };
  const lexed = (code: string, path: string): ReturnType<typeof parse> => {
    tools ??= loadTools();
    return tools.lex(code, path);
  };
  /** A TypeScript file's run-time exports; unknown if it re-exports all of another module. */
  const namesOf = (path: string): ReadonlySet<string> | "unknown" => {
    const known = exported.get(path);
    if (known !== undefined) return known;
    // Stops at cycles.
    exported.set(path, "unknown");
    const code = withoutTypeExports(toJavaScript(path), path, { lexed, targetOf, namesOf });
    const [, names] = lexed(code, path);
    const found = names.some(({ type }) => type === "reexport-all")
      ? "unknown"
      : new Set(names.flatMap((one) => (one.type === "reexport-all" ? [] : [one.name])));
    exported.set(path, found);
    return found;
  };
  const hasDefault = (path: string): boolean => {
    const [, names] = lexed(readFileSync(path, "utf8"), path);
    return names.some((one) => one.type !== "reexport-all" && one.name === "default");
  };
  /** By file of a CommonJS package: the packages it default-imports. */
  const defaults = new Map<string, ReadonlySet<string>>();
  return {
    wantsCommonJs: (path, specifier, target) => defaults.get(path)?.has(specifier) === true && !hasDefault(target),
    run: (path, packageType) => {
      const first = toJavaScript(path);
      const [imports, names, , hasModuleSyntax] = lexed(first, path);
      if (packageType === "commonjs") defaults.set(path, defaultImports(first, imports));
      const isModule = hasModuleSyntax || path.endsWith(".mts") || (packageType === "module" && !path.endsWith(".cts"));
      if (!isModule) return { format: "commonjs", source: first };
      const scoped = /\b(?:require|module|exports|__dirname|__filename)\b/u.test(first)
        ? toJavaScript(path, scopeOptions)
        : first;
      const code = names.length === 0 ? withAssignedExports(scoped) : scoped;
      return { format: "module", source: withoutTypeExports(code, path, { lexed, targetOf, namesOf }) };
    },
  };
}

function defaultImports(code: string, imports: ReturnType<typeof parse>[0]): ReadonlySet<string> {
  const statements = imports.filter(({ importStart }) =>
    /^import\s+[\w$]+\s*(?:,|from\b)/u.test(code.slice(importStart)),
  );
  return new Set(statements.flatMap(({ specifier }) => specifier ?? []));
}

/** CommonJS globals, for names that a module does not declare. */
const scopeOptions: TransformOptions = {
  define: { __dirname: "import.meta.dirname", __filename: "import.meta.filename" },
  inject: {
    require: [commonJsScope, "require"],
    module: [commonJsScope, "module"],
    exports: [commonJsScope, "exports"],
  },
};

/** `export =` with imports: the assigned value is the default export. */
function withAssignedExports(code: string): string {
  return new RegExp(`\\bmodule\\b.*"${commonJsScope}"`, "u").test(code)
    ? `${code}\nexport default module.exports;`
    : code;
}

/** Whether class fields are defined, as the standard says, or assigned, as in older TypeScript. */
function hasDefinedFields({ useDefineForClassFields, target = "" }: CompilerOptions): boolean {
  return useDefineForClassFields ?? !/^es(?:3|5|6|20(?:1\d|2[01]))$/iu.test(target);
}

function transformOptions(path: string, compiler: CompilerOptions, definesFields: boolean): TransformOptions {
  return {
    lang: /\.[cm]?ts$/u.test(path) ? "ts" : path.endsWith(".jsx") ? "jsx" : "tsx",
    sourceType: "module",
    sourcemap: true,
    // Resource management is newer than the oldest supported Node.
    target: "es2024",
    assumptions: { setPublicClassFields: !definesFields },
    typescript: {
      onlyRemoveTypeImports: compiler.verbatimModuleSyntax === true,
      removeClassFieldsWithoutInitializer: !definesFields,
    },
    decorator: {
      legacy: compiler.experimentalDecorators === true,
      emitDecoratorMetadata: compiler.emitDecoratorMetadata === true,
      strictNullChecks: compiler.strictNullChecks ?? compiler.strict ?? false,
    },
    jsx: jsxOptions(compiler),
  };
}

/** TypeScript's values of `jsx`. Those that preserve JSX use React's newer runtime. */
function jsxOptions({ jsx, jsxFactory, jsxFragmentFactory, jsxImportSource }: CompilerOptions): JsxOptions {
  if (jsx?.toLowerCase() === "react") {
    return {
      runtime: "classic",
      ...(jsxFactory === undefined ? {} : { pragma: jsxFactory }),
      ...(jsxFragmentFactory === undefined ? {} : { pragmaFrag: jsxFragmentFactory }),
    };
  }
  return { runtime: "automatic", ...(jsxImportSource === undefined ? {} : { importSource: jsxImportSource }) };
}

function syntaxError(path: string, text: string, message: string, offset: number): AppError {
  const lines = text.slice(0, offset).split("\n");
  return new AppError("config", `${path}:${lines.length}:${(lines.at(-1) ?? "").length + 1}: ${message}`);
}

/**
 * Whether a source may contain decorators or accessor fields. A cheap check of every file, which comments may deceive.
 */
function mayDecorate(text: string): boolean {
  return /^(?![ \t]*(?:\*|\/\/))(?:.*[^\w"'`/.])?@[\w$([]|\baccessor\b/mu.test(text);
}

const member = /^[ \t]*(?:.*\*\/[ \t]*)?(?:export (?:default )?)?@[\w$([]/mu;
const inlineClass = /^(?![ \t]*(?:\*|\/\/)).*@[\w$([].{0,300}\bclass\b/mu;
const accessor = /\baccessor\b/u;

/** Whether oxc's output, with one member per line, still contains some. */
function leavesDecorators(code: string): boolean {
  return [member, inlineClass, accessor].some((sign) => sign.test(code));
}

let lower: typeof transformWithEsbuild | undefined;

function loadLowering(): typeof transformWithEsbuild {
  // Otherwise esbuild keeps a thread and a process for this process's lifetime, to compile a few files at the start.
  addVariables({ ESBUILD_WORKER_THREADS: "0" });
  // A package's exports are known by its types, which `require` does not see.
  return (createRequire(import.meta.url)("esbuild") as { transformSync: typeof transformWithEsbuild }).transformSync;
}

/**
 * Lowers standard decorators, which oxc and Node do not support yet. A source map at the end is kept. Fields assigned
 * by TypeScript need the TypeScript loader, which has nothing else left to change.
 */
function lowerDecorators(path: string, code: string, definesFields: boolean): string {
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

/** The TypeScript file imported from `from`; `undefined` for anything else. */
type TargetOf = (specifier: string, from: string) => string | undefined;

/** Queries about other modules. */
interface OtherModules {
  lexed: (code: string, path: string) => ReturnType<typeof parse>;
  targetOf: TargetOf;
  namesOf: (path: string) => ReadonlySet<string> | "unknown";
}

type Reexport = Extract<Export, { type: "reexport" }>;

/**
 * Removes re-exports of types (`export { State } from "./state.js"`), which do not exist at run time: only the other
 * module knows that a name is a type. Spaces replace them, so positions stay.
 */
function withoutTypeExports(code: string, path: string, { lexed, targetOf, namesOf }: OtherModules): string {
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
      // For a default import alone, the module still runs.
      const words = /^import(\s+[\w$]+\s+from)\b/u.exec(code.slice(statement.importStart))?.[1];
      if (words !== undefined) blank(statement.importStart + 6, statement.importStart + 6 + words.length);
    }
  }
  return text;
}

function endWithComma(code: string, end: number): number {
  return end + (/^\s*,/u.exec(code.slice(end))?.[0].length ?? 0);
}
