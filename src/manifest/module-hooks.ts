import { readFileSync, realpathSync } from "node:fs";
import nodeModule, { type LoadHookSync, type ResolveHookSync } from "node:module";
import { join, relative, sep } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { aliasesOf, type PathAliases } from "./path-aliases.ts";

/** What this program itself is built on, lent to folders that have no packages of their own. */
const lentPackages =
  /^(@langchain\/(core|langgraph|langgraph-checkpoint|langgraph-sdk|openai|ollama)|hono|langsmith|zod)(\/|$)/u;

/** Endings that TypeScript's authors write, and what stands on disk. */
const writtenEndings: [RegExp, string[]][] = [
  [/\.js$/u, [".ts", ".tsx"]],
  [/\.mjs$/u, [".mts"]],
  [/\.cjs$/u, [".cts"]],
  [/(?<!\.[cm]?[jt]sx?|\.json)$/u, [".ts", ".mts", ".js", ".mjs", "/index.ts", "/index.js"]],
];

/** What types alone do not say: these have to be turned into JavaScript, where the rest only has its types taken away. */
const needsTransform =
  /\b(enum|namespace|module)\s+[\w$.]+\s*\{|\bconstructor\s*\([^)]*\b(public|private|protected|readonly)\s|\bimport\s+\w+\s*=/u;

const ownFolder = realpathSync(join(import.meta.dirname, "..", ".."));
const ownRequire = nodeModule.createRequire(import.meta.url);
const open = new Set<string>();

/**
 * Lets the modules of a user's folder be written as TypeScript's authors write them: with `.js` or no ending for a `.ts`
 * file, with the paths of `tsconfig.json`, with enums; and without packages of their own for what this program is built
 * on. What resolves by itself is left alone, and so is every folder of this program. Once per folder.
 */
export function openUserModules(folder: string): void {
  const root = realpathSync(folder);
  const inside = relative(ownFolder, root);
  const isOwn = !inside.startsWith("..") && !inside.split(sep).includes("node_modules");
  // Node 22.14 has no such hooks: there modules have to be written as Node wants them.
  if (isOwn || open.has(root) || typeof nodeModule.registerHooks !== "function") return;
  open.add(root);
  const prefix = pathToFileURL(root + sep).href;
  const isUsers = (url: string | undefined): boolean =>
    url?.startsWith(prefix) === true && !url.slice(prefix.length).split("/").includes("node_modules");
  nodeModule.registerHooks({ resolve: resolveHook(isUsers, aliasesOf(root)), load: loadHook(isUsers) });
}

function resolveHook(isUsers: (url: string | undefined) => boolean, aliases: PathAliases): ResolveHookSync {
  return (specifier, context, next) => {
    try {
      return next(specifier, context);
    } catch (error) {
      if (!isUsers(context.parentURL)) throw error;
      for (const candidate of candidates(specifier, aliases)) {
        try {
          return next(candidate, context);
        } catch {
          // Not this one; if it is none of them, the first error says what was asked for.
        }
      }
      if (!lentPackages.test(specifier)) throw error;
      // What is required is looked for beside the module that requires it, whatever the context says.
      if (context.conditions.includes("require")) return next(ownRequire.resolve(specifier), context);
      return next(specifier, { ...context, parentURL: import.meta.url });
    }
  };
}

function candidates(specifier: string, aliases: PathAliases): string[] {
  if (/^\.{0,2}\//u.test(specifier) || specifier.startsWith("file:")) return withEndings(specifier);
  return aliases(specifier).flatMap((path) => {
    const url = pathToFileURL(path).href;
    return [url, ...withEndings(url)];
  });
}

function withEndings(specifier: string): string[] {
  return writtenEndings
    .filter(([written]) => written.test(specifier))
    .flatMap(([written, endings]) => endings.map((ending) => specifier.replace(written, ending)));
}

function loadHook(isUsers: (url: string | undefined) => boolean): LoadHookSync {
  return (url, context, next) => {
    if (!/\.[cm]?ts$/u.test(url) || !isUsers(url)) return next(url, context);
    const path = fileURLToPath(url);
    const text = readFileSync(path, "utf8");
    // Node itself only takes types away, and already refuses such a module when it looks what kind it is.
    if (!needsTransform.test(text)) return next(url, context);
    const isModule = !path.endsWith(".cts") && (path.endsWith(".mts") || /^\s*(import|export)\b/mu.test(text));
    const source = nodeModule.stripTypeScriptTypes(text, { mode: "transform", sourceUrl: url });
    return { format: isModule ? "module" : "commonjs", source, shortCircuit: true };
  };
}
