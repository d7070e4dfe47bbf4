import { readFileSync, realpathSync, statSync } from "node:fs";
import { dirname, extname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { AppError } from "../errors/errors.ts";
import { withTimeout } from "../concurrency/abort.ts";
import type { Logger } from "../logger.ts";
import { z } from "zod";

/** Time limit in milliseconds for loading a module: one that hangs must not block the others. */
export const loadLimit = 60_000;

/** Resolves `./file.ts:name` to an absolute path and an export; without a name the default export. */
export function placeOf(folder: string, reference: string): { path: string; name: string } {
  const colon = reference.lastIndexOf(":");
  if (colon <= 1) return { path: resolve(folder, reference), name: "default" };
  return { path: resolve(folder, reference.slice(0, colon)), name: reference.slice(colon + 1) };
}

/** The module's exports, including those of a CommonJS module that Node's static analysis misses. */
function exportsOf(module: Record<string, unknown>): Record<string, unknown> {
  const inner = module["default"];
  return typeof inner === "object" && inner !== null ? { ...inner, ...module } : module;
}

/** Milliseconds that a module waits for the previous one, so that one that hangs does not block the others. */
const patience = 2_000;
let former: Promise<unknown> = Promise.resolve();

/** Sequential: a module being imported cannot be required by another one at the same time. */
async function importInTurn(address: string): Promise<unknown> {
  const before = former;
  const imported = Promise.withResolvers<void>();
  former = imported.promise;
  try {
    await withTimeout(before, patience, () => undefined);
    return await import(address);
  } finally {
    imported.resolve();
  }
}

/**
 * The export of a user's module named in `reference`. Throws `config` for a missing file or export, and whatever the
 * module throws.
 */
export async function loadExport(folder: string, reference: string, limit = loadLimit): Promise<unknown> {
  const { path, name } = placeOf(folder, reference);
  if (/^\.pyi?$/u.test(extname(path))) {
    throw new AppError("config", `${path} is Python; this server runs TypeScript and JavaScript.`);
  }
  if (statSync(path, { throwIfNoEntry: false })?.isFile() !== true) {
    throw new AppError("config", `There is no file ${path}.`);
  }
  // Exports may be anything; the caller checks them.
  const module = (await withLoadLimit(importInTurn(pathToFileURL(path).href), limit, path)) as Record<string, unknown>;
  const found = exportsOf(module);
  if (Object.hasOwn(found, name)) return found[name];
  const names = Object.keys(found).join(", ") || "nothing";
  throw new AppError("config", `${path} exports ${names}, not ${name}`);
}

/** The result of the work; throws `config` after `limit` milliseconds. */
export async function withLoadLimit<Result>(work: Promise<Result>, limit: number, what: string): Promise<Result> {
  return await withTimeout(work, limit, () => {
    throw new AppError("config", `${what} was not loaded after ${limit / 1000} s.`, {
      suggestion: "See what it waits for (a top-level await, a promise); MILLRACE_LOAD_SECONDS is how long it may.",
    });
  });
}

/** Globals that foreign code sometimes replaces; our routes depend on the first three. */
const ofRoutes = ["Request", "Response", "Headers"] as const;
const ofEverybody = ["fetch", "URL", "AbortController", "setTimeout", "structuredClone", "queueMicrotask"] as const;

/** Globals changed by a user's modules. */
interface ChangedGlobals {
  /** Left as changed: a module that replaces `fetch` usually only observes it. */
  changed: string[];
  /** Restored: our routes depend on them. */
  restored: string[];
}

/**
 * Records globals before users' modules are loaded; the returned function reports what changed, `undefined`: nothing.
 */
export function watchGlobals(): () => ChangedGlobals | undefined {
  const kept = new Map([...ofRoutes, ...ofEverybody].map((name) => [name, globalThis[name]]));
  return () => {
    const isOther = (name: (typeof ofRoutes)[number] | (typeof ofEverybody)[number]): boolean =>
      globalThis[name] !== kept.get(name);
    const restored = ofRoutes.filter(isOther);
    for (const name of restored) {
      Object.defineProperty(globalThis, name, { value: kept.get(name), writable: true, configurable: true });
    }
    const changed = ofEverybody.filter(isOther);
    return restored.length + changed.length === 0 ? undefined : { changed, restored: restored.toSorted() };
  };
}

/** Where the SDK's `getLogger()` and `new Client()` look for their server. */
const loggerSymbol = Symbol.for("langgraph.api.sdk-logger");
const fetchSymbol = Symbol.for("langgraph_api:fetch");
const urlSymbol = Symbol.for("langgraph_api:url");

/** The levels of the SDK's logger (npm's) by ours. */
const levels = {
  error: "error",
  warn: "warn",
  help: "info",
  data: "info",
  info: "info",
  debug: "debug",
  prompt: "info",
  http: "info",
  verbose: "debug",
  input: "debug",
  silly: "trace",
} as const;

// The SDK's symbols are untyped.
const globals = globalThis as unknown as Record<symbol, unknown>;

let current: Logger | undefined;

/**
 * Gives the server's logger to user code that asks the SDK for one. Called before user modules are loaded, as some ask
 * at once.
 */
export function bindSdkLogger(logger: Logger): void {
  current = logger;
  // A module keeps its first logger, even if a later server of the process has another.
  if (loggerSymbol in globals) return;
  const adapter: Record<string, (message: unknown, ...meta: unknown[]) => unknown> = {};
  for (const [name, level] of Object.entries(levels)) {
    adapter[name] = (message, ...meta) => {
      const fields = Object.assign({}, ...meta.filter((one) => typeof one === "object"));
      if (typeof message === "object" && message !== null) current?.[level]({ ...message, ...fields }, "user_code");
      else current?.[level](fields, String(message));
      return adapter;
    };
  }
  globals[loggerSymbol] = adapter;
}

/**
 * Connects a `Client` without an address, in graphs and `http.app` routes, to this server, as an ordinary client that
 * needs a key too. Returns a function that undoes it.
 */
export function bindSdkClient(url: string): () => void {
  const ownFetch = (path: string | URL, init?: RequestInit): Promise<Response> => fetch(new URL(path, url), init);
  globals[fetchSymbol] = ownFetch;
  globals[urlSymbol] = url;
  return () => {
    if (globals[fetchSymbol] !== ownFetch) return;
    delete globals[fetchSymbol];
    delete globals[urlSymbol];
  };
}

const PackageFile = z.object({ version: z.string() });

/** The version of a package resolved from a module's folder upwards; `undefined` if there is none. */
export function versionFor(modulePath: string, packageName: string): string | undefined {
  for (let folder = dirname(realpathSync(modulePath)); ; folder = dirname(folder)) {
    const version = versionIn(join(folder, "node_modules", packageName, "package.json"));
    if (version !== undefined || folder === dirname(folder)) return version;
  }
}

function versionIn(path: string): string | undefined {
  try {
    return PackageFile.safeParse(JSON.parse(readFileSync(path, "utf8"))).data?.version;
  } catch {
    // Most parent folders have no packages; the import itself reports a broken one.
    return undefined;
  }
}

/** Whether one version precedes another, comparing only the three numbers. */
export function isBefore(version: string, other: string): boolean {
  const [left, right] = [version, other].map((text) => text.split(/[.-]/u).slice(0, 3).map(Number));
  const different = [0, 1, 2].find((part) => left?.[part] !== right?.[part]) ?? 0;
  return (left?.[different] ?? 0) < (right?.[different] ?? 0);
}
