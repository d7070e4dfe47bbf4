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

/** The specifier under which a transformed module finds what only CommonJS modules have by themselves. */
export const commonJsScope = "millrace:commonjs";

/** A TypeScript or JSX module as Node runs it. */
export interface RunnableModule {
  source: string;
  format: "module" | "commonjs";
}

/** Turns the files of users' folders into what Node runs. */
export interface Transformer {
  /** Throws `config` with file, line and reason where the text is no TypeScript. */
  run: (path: string, packageType: PackageType) => RunnableModule;
  /**
   * Whether the file at `path` imports the default of a package whose ES module, at `target`, has none: authors of
   * CommonJS packages mean the whole of its CommonJS version, as their compilers do.
   */
  wantsCommonJs: (path: string, specifier: string, target: string) => boolean;
}

/** What the nearest `package.json` says of the kind of its modules. */
export type PackageType = "module" | "commonjs";

interface Tools {
  transform: typeof transformSync;
  lex: typeof parse;
}

/** Loaded with the first module that needs them: most servers serve none. */
function loadTools(): Tools {
  const load = createRequire(import.meta.url);
  // What a package exports is known by its types, which `require` does not see.
  const { transformSync: transform } = load("oxc-transform") as { transformSync: typeof transformSync };
  const { parse: lex } = load("es-module-lexer") as { parse: typeof parse };
  return { transform, lex };
}

/** A transformer by the settings of each file; `targetOf` finds the TypeScript file that an import means. */
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
    // Fields stay as they are written until their decorators are lowered.
    const mayLower = compiler.experimentalDecorators !== true && mayDecorate(text);
    const code = transformed(definesFields || mayLower);
    if (mayLower && leavesDecorators(code)) return lowerDecorators(path, code, definesFields);
    return mayLower && !definesFields ? transformed(false) : code;
  };
  const lexed = (code: string, path: string): ReturnType<typeof parse> => {
    tools ??= loadTools();
    return tools.lex(code, path);
  };
  /** The names that a TypeScript file has at run time; unknown where it passes on all of another module. */
  const namesOf = (path: string): ReadonlySet<string> | "unknown" => {
    const known = exported.get(path);
    if (known !== undefined) return known;
    // A ring of modules is looked at once.
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
  /** By file of a CommonJS package, the packages of which it imports the default. */
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

/** What CommonJS modules have by themselves, for the names that a module does not declare. */
const scopeOptions: TransformOptions = {
  define: { __dirname: "import.meta.dirname", __filename: "import.meta.filename" },
  inject: {
    require: [commonJsScope, "require"],
    module: [commonJsScope, "module"],
    exports: [commonJsScope, "exports"],
  },
};

/** `export =` beside imports: what the module assigned is its default export. */
function withAssignedExports(code: string): string {
  return new RegExp(`\\bmodule\\b.*"${commonJsScope}"`, "u").test(code)
    ? `${code}\nexport default module.exports;`
    : code;
}

/** Whether fields of classes are defined, as the standard says, and not assigned, as older TypeScript did. */
function hasDefinedFields({ useDefineForClassFields, target = "" }: CompilerOptions): boolean {
  return useDefineForClassFields ?? !/^es(?:3|5|6|20(?:1\d|2[01]))$/iu.test(target);
}

function transformOptions(path: string, compiler: CompilerOptions, definesFields: boolean): TransformOptions {
  return {
    lang: /\.[cm]?ts$/u.test(path) ? "ts" : path.endsWith(".jsx") ? "jsx" : "tsx",
    sourceType: "module",
    sourcemap: true,
    // Resource management is younger than the oldest Node that runs this.
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

/** The values of `jsx` in TypeScript. Those that keep JSX are compiled for React's newer runtime. */
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

/** Whether a source may have decorators or accessor fields. It is asked of every file, so comments may deceive it. */
function mayDecorate(text: string): boolean {
  return /^(?![ \t]*(?:\*|\/\/))(?:.*[^\w"'`/.])?@[\w$([]|\baccessor\b/mu.test(text);
}

const member = /^[ \t]*(?:.*\*\/[ \t]*)?(?:export (?:default )?)?@[\w$([]/mu;
const inlineClass = /^(?![ \t]*(?:\*|\/\/)).*@[\w$([].{0,300}\bclass\b/mu;
const accessor = /\baccessor\b/u;

/** Whether code that oxc has written, with each member in a line of its own, still has some. */
function leavesDecorators(code: string): boolean {
  return [member, inlineClass, accessor].some((sign) => sign.test(code));
}

let lower: typeof transformWithEsbuild | undefined;

function loadLowering(): typeof transformWithEsbuild {
  // Else esbuild keeps a thread and a process as long as this process lives, for a few files at its start.
  addVariables({ ESBUILD_WORKER_THREADS: "0" });
  // What a package exports is known by its types, which `require` does not see.
  return (createRequire(import.meta.url)("esbuild") as { transformSync: typeof transformWithEsbuild }).transformSync;
}

/**
 * JavaScript without the decorators of the standard, which oxc and Node do not know yet. A source map at its end is
 * carried on. Fields that TypeScript assigns need TypeScript's reading, in which nothing else is left to change.
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

/** The TypeScript file that an import of the file `from` means; `undefined` for anything else. */
type TargetOf = (specifier: string, from: string) => string | undefined;

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
