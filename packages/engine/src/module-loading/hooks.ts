import { existsSync, readFileSync, realpathSync, statSync } from "node:fs";
import nodeModule, { type LoadHookSync, type ResolveHookSync } from "node:module";
import { dirname, join, relative, resolve, sep } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { z } from "zod";
import { programFolder } from "../process/program-folder.ts";
import { jsonModule } from "./json-module.ts";
import { commonJsScope, createTransformer, type PackageType, type Transformer } from "./transform.ts";
import { createTsconfigReader, type FileSettings } from "./tsconfig.ts";

/** What this program itself is built on, lent to folders that have no packages of their own; and the transformer's helpers. */
const lentPackages =
  /^(@langchain\/(core|langgraph|langgraph-checkpoint|langgraph-sdk|openai|ollama)|hono|langsmith|zod|@oxc-project\/runtime)(\/|$)/u;

/** Endings that TypeScript's authors write, and what stands on disk. */
const writtenEndings: [RegExp, string[]][] = [
  [/\.jsx?$/u, [".ts", ".tsx"]],
  [/\.mjs$/u, [".mts"]],
  [/\.cjs$/u, [".cts"]],
];
const missingEndings = [".ts", ".tsx", ".mts", ".cts", ".js", ".mjs", ".cjs", ".jsx", ".json"];
const indexFiles = ["ts", "tsx", "mts", "js", "mjs", "cjs"].map((ending) => `${sep}index.${ending}`);

const ownRequire = nodeModule.createRequire(import.meta.url);
const transformed = /\.(?:[cm]?tsx?|jsx)$/u;
const warnings = new Set<(problem: string) => void>();
let isOpen = false;

/**
 * Lets the modules of users' folders be written as TypeScript's authors write them (docs/graphs.md says how), and
 * without packages of their own for what this program is built on. Files of this program are left alone. What of a
 * `tsconfig.json` cannot be used is told to `warn`.
 */
export function openUserModules(folder: string, warn?: (problem: string) => void): void {
  if (warn !== undefined) warnings.add(warn);
  // Node 22.14 has no such hooks: there modules have to be written as Node wants them.
  if (isOpen || isOwn(realpathSync(folder)) || typeof nodeModule.registerHooks !== "function") return;
  isOpen = true;
  const settings = createTsconfigReader((problem) => warnings.forEach((tell) => tell(problem)));
  const transformer = createTransformer(settings, (specifier, from) => {
    const file = ownFile(specifier, from, settings);
    return file !== undefined && transformed.test(file) ? file : undefined;
  });
  nodeModule.registerHooks({ resolve: resolveHook(settings, transformer), load: loadHook(transformer) });
  nodeModule.setSourceMapsSupport(true, { nodeModules: false, generatedCode: false });
}

/** Whether a file belongs to this program, and not to a folder that it serves. */
export function isOwn(path: string): boolean {
  const inside = relative(programFolder, path);
  return !inside.startsWith("..") && !inside.split(sep).includes("node_modules");
}

/** The path of a user's module; `undefined` for those of this program, and for JavaScript of packages. */
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
      // What is required is looked for beside the module that requires it, whatever the context says.
      if (isRequired) return next(ownRequire.resolve(specifier), context);
      return next(specifier, { ...context, parentURL: import.meta.url });
    }
  };
}

/** The CommonJS version of a package, where it has one and the importing file means that. */
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
    // It has none: Node says what is missing.
    return undefined;
  }
}

/** The file that TypeScript means by a name and Node does not; `undefined` where Node's own way is right. */
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
  // Beside its source, a compiled file may be older than it.
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

/** What the module at `url` would have, were it CommonJS. */
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
    // Node says what is wrong with it, to whoever needs more of it.
    return "commonjs";
  }
}
