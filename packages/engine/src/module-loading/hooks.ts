import { existsSync, readFileSync, realpathSync, statSync } from "node:fs";
import nodeModule, { type LoadHookSync, type ResolveHookSync } from "node:module";
import { dirname, join, relative, resolve, sep } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { z } from "zod";
import { programFolder } from "../process/folders.ts";
import { commonJsScope, createTransformer, type PackageType, type Transformer } from "./transform.ts";
import { createTsconfigReader, type FileSettings } from "./tsconfig.ts";
import { AppError, errorMessage, explain, isAppError } from "../errors/errors.ts";

/**
 * Packages this program depends on, shared with folders without packages of their own; and the transformer's helpers.
 */
const lentPackages =
  /^(@langchain\/(core|langgraph|langgraph-checkpoint|langgraph-sdk|openai|ollama)|hono|langsmith|zod|@oxc-project\/runtime|millrace)(\/|$)/u;

/** Extensions in TypeScript imports, and those on disk. */
const writtenEndings: [RegExp, string[]][] = [
  [/\.jsx?$/u, [".ts", ".tsx"]],
  [/\.mjs$/u, [".mts"]],
  [/\.cjs$/u, [".cts"]],
];
const missingEndings = [".ts", ".tsx", ".mts", ".cts", ".js", ".mjs", ".cjs", ".jsx", ".json"];
const indexFiles = ["ts", "tsx", "mts", "js", "mjs", "cjs"].map((ending) => `${sep}index.${ending}`);

/** Where shared packages are resolved from; this program itself is found there by name. */
const lender = pathToFileURL(join(programFolder, "package.json")).href;
const ownRequire = nodeModule.createRequire(lender);
const transformed = /\.(?:[cm]?tsx?|jsx)$/u;
const warnings = new Set<(problem: string) => void>();
let isOpen = false;

/**
 * Lets users' modules use TypeScript conventions (see docs/graphs/graphs.md), and this program's packages if they have
 * none. Files of this program are left alone. Unusable parts of a `tsconfig.json` are passed to `warn`.
 */
export function openUserModules(folder: string, warn?: (problem: string) => void): void {
  if (warn !== undefined) warnings.add(warn);
  // Node 22.14 lacks these hooks: modules must be written the way Node expects.
  if (isOpen || isOwn(realpathSync(folder)) || typeof nodeModule.registerHooks !== "function") return;
  isOpen = true;
  const settings = createTsconfigReader((problem) => warnings.forEach((warn) => warn(problem)));
  const transformer = createTransformer(settings, (specifier, from) => {
    const file = ownFile(specifier, from, settings);
    return file !== undefined && transformed.test(file) ? file : undefined;
  });
  nodeModule.registerHooks({ resolve: resolveHook(settings, transformer), load: loadHook(transformer) });
  nodeModule.setSourceMapsSupport(true, { nodeModules: false, generatedCode: false });
}

/** Whether a file belongs to this program rather than to a served folder. */
function isOwn(path: string): boolean {
  const inside = relative(programFolder, path);
  return !inside.startsWith("..") && !inside.split(sep).includes("node_modules");
}

/** The path of a user's module; `undefined` for this program's, and for packages' JavaScript. */
function usersPath(url: string | undefined): string | undefined {
  if (url?.startsWith("file:") !== true) return undefined;
  const path = fileURLToPath(url);
  const isPackage = path.includes(`${sep}node_modules${sep}`) && !transformed.test(path);
  return isPackage || isOwn(path) ? undefined : path;
}

function resolveHook(settings: (folder: string) => FileSettings, transformer: Transformer): ResolveHookSync {
  return (specifier, context, next) => {
    const { parentURL, conditions } = context;
    const parent = usersPath(parentURL);
    if (parent === undefined) return next(specifier, context);
    if (specifier === commonJsScope) {
      return { url: `${commonJsScope}?${parentURL}`, format: "module", shortCircuit: true };
    }
    const isRequired = conditions.includes("require");
    const file = ownFile(specifier, parent, settings);
    const found = file === undefined ? undefined : isRequired ? file : pathToFileURL(file).href;
    try {
      const result = next(found ?? specifier, context);
      if (!isRequired && file === undefined && result.format === "module" && result.url.startsWith("file:")) {
        const path = commonJsOf(specifier, parent, fileURLToPath(result.url), transformer);
        if (path !== undefined) return next(pathToFileURL(path).href, context);
      }
      const isJson = !isRequired && result.url.endsWith(".json") && context.importAttributes["type"] === undefined;
      return isJson ? { ...result, url: `${result.url}?module`, format: "module" } : result;
    } catch (error) {
      if (!lentPackages.test(specifier)) throw error;
      // `require` resolves from the requiring module, whatever the context says.
      if (isRequired) return next(ownRequire.resolve(specifier), context);
      return next(specifier, { ...context, parentURL: lender });
    }
  };
}

/** The CommonJS version of a package, if it has one and the importing file means it. */
function commonJsOf(
  specifier: string,
  parent: string,
  target: string,
  { wantsCommonJs }: Transformer,
): string | undefined {
  if (!wantsCommonJs(parent, specifier, target)) return undefined;
  try {
    const path = nodeModule.createRequire(parent).resolve(specifier);
    return path === target ? undefined : path;
  } catch {
    // It has none: Node reports what is missing.
    return undefined;
  }
}

/** The file TypeScript would resolve and Node would not; `undefined` if Node's resolution is right. */
function ownFile(specifier: string, parent: string, settings: (folder: string) => FileSettings): string | undefined {
  if (nodeModule.isBuiltin(specifier) || specifier.startsWith("#")) return undefined;
  const folder = dirname(parent);
  const written = specifier.startsWith("file:") ? fileURLToPath(specifier) : specifier;
  const isPath = /^(?:\.{0,2}[/\\]|\.{1,2}$|[A-Z]:\\)/u.test(written);
  const places = isPath ? [resolve(folder, written)] : settings(folder).aliases(specifier);
  for (const place of places) {
    const file = fileAt(place, transformed.test(parent));
    if (file !== undefined) return file;
  }
  return undefined;
}

function fileAt(place: string, isFromTypeScript: boolean): string | undefined {
  // Prefer the source: a compiled file next to it may be outdated.
  const [written, sources] = writtenEndings.find(([ending]) => ending.test(place)) ?? [undefined, []];
  const source = written === undefined ? [] : sources.map((ending) => place.replace(written, ending));
  const itself = [place, ...missingEndings.map((ending) => place + ending), ...indexFiles.map((name) => place + name)];
  return (isFromTypeScript ? [...source, ...itself] : [...itself, ...source]).find(isFile);
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}

function loadHook(transformer: Transformer): LoadHookSync {
  const types = new Map<string, PackageType>();
  return (url, context, next) => {
    if (url.startsWith(`${commonJsScope}?`)) return scopeOf(url.slice(commonJsScope.length + 1));
    if (url.endsWith(".json?module")) return jsonModule(fileURLToPath(url.slice(0, -"?module".length)));
    const [address = ""] = url.split("?", 1);
    if (!transformed.test(address)) return next(url, context);
    const path = usersPath(address);
    if (path === undefined) return next(url, context);
    return { ...transformer.run(path, packageType(dirname(path), types)), shortCircuit: true };
  };
}

/** What the module at `url` would have as CommonJS. */
function scopeOf(url: string): ReturnType<LoadHookSync> {
  const source = `import { createRequire } from "node:module";
export const require = createRequire(${JSON.stringify(url)});
export const module = { exports: {}, filename: ${JSON.stringify(fileURLToPath(url))} };
export const exports = module.exports;`;
  return { format: "module", source, shortCircuit: true };
}

const PackageJson = z.looseObject({ type: z.enum(["module", "commonjs"]).catch("commonjs") });

function packageType(folder: string, known: Map<string, PackageType>): PackageType {
  const found = known.get(folder) ?? readPackageType(folder, known);
  known.set(folder, found);
  return found;
}

function readPackageType(folder: string, known: Map<string, PackageType>): PackageType {
  const file = join(folder, "package.json");
  if (!existsSync(file)) return dirname(folder) === folder ? "commonjs" : packageType(dirname(folder), known);
  try {
    return PackageJson.parse(JSON.parse(readFileSync(file, "utf8"))).type;
  } catch {
    // Node itself reports the problem.
    return "commonjs";
  }
}

/** A JSON file imported without an attribute: its value as the default export, an object's members by name. */
function jsonModule(path: string): ReturnType<LoadHookSync> {
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(path, "utf8"));
  } catch (error) {
    throw new AppError("config", `${path} is no JSON: ${errorMessage(error)}`, { cause: error });
  }
  const keys = typeof value === "object" && value !== null && !Array.isArray(value) ? Object.keys(value) : [];
  const names = keys.filter((name) => /^[A-Za-z_$][\w$]*$/u.test(name) && name !== "default");
  const members = names.map((name, index) => `const v${index} = value[${JSON.stringify(name)}];`);
  const list = names.map((name, index) => `v${index} as ${JSON.stringify(name)}`).join(", ");
  const text = JSON.stringify(value).replaceAll("\u2028", "\\u2028").replaceAll("\u2029", "\\u2029");
  const source = `const value = ${text};\nexport default value;\n${members.join("\n")}\nexport { ${list} };`;
  return { format: "module", source, shortCircuit: true };
}

/** A position in a user's file, as in stack traces. */
const place = /(?:file:\/\/)?(\/[^\s():]+\.[cm]?[jt]sx?):(\d+)/gu;

/** Why a user's module failed to load, in one line: the problem, file and line, and a remedy if known. */
export function loadProblem(error: unknown): string {
  if (isAppError(error)) return oneLine(explain(error));
  const message = oneLine(errorMessage(error)).replace(/^(.*) Require stack: - (\S+).*$/u, "$1 imported from $2");
  const at = placeOf(error);
  const where = at === undefined || message.includes(at) ? message : `${at}: ${message}`;
  const remedy = remedyFor(error, message);
  return remedy === undefined ? where : `${where}${/[.!?]$/u.test(where) ? "" : "."} ${remedy}`;
}

/** A module's error as a `config` error; `what` is what it was needed for. */
export function loadError(what: string, error: unknown): AppError {
  return new AppError("config", `${what} cannot be loaded: ${loadProblem(error)}`, { cause: error });
}

function oneLine(text: string): string {
  return text.replaceAll(/\s*\n\s*/gu, " ").trim();
}

/** The first user position in the stack; a module that cannot be linked is named before its message. */
function placeOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || typeof error.stack !== "string") return undefined;
  for (const [, path = "", line] of error.stack.matchAll(place)) {
    if (!path.includes("/node_modules/") && !isOwn(pathOf(path))) return `${pathOf(path)}:${line}`;
  }
  return undefined;
}

function pathOf(path: string): string {
  return path.includes("%") ? fileURLToPath(`file://${path}`) : path;
}

function remedyFor(error: unknown, message: string): string | undefined {
  const missing = /^Cannot find (?:package|module) '((?:@[^'/]+\/)?[^'./@][^'/]*)/u.exec(message)?.[1];
  if (missing !== undefined) return `Install it in the folder: npm install ${missing}.`;
  if (message.startsWith("Cannot find module")) return "Is the file there, and does paths in tsconfig.json name it?";
  if (message.includes("does not provide an export named")) return "If it is only a type, import it by `import type`.";
  if (error instanceof Error && "code" in error && error.code === "ERR_REQUIRE_ASYNC_MODULE")
    return "A module with await at its top is imported, not required.";
  return undefined;
}
