import { statSync } from "node:fs";
import { extname, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { AppError } from "../errors/errors.ts";
import { withTimeout } from "../concurrency/with-timeout.ts";

/** Milliseconds that a module may take to load: one that waits for ever must not hold up the others. */
export const loadLimit = 60_000;

/** What `./file.ts:name` names, with the path absolute; without a name the default export. */
export function placeOf(folder: string, reference: string): { path: string; name: string } {
  const colon = reference.lastIndexOf(":");
  if (colon <= 1) return { path: resolve(folder, reference), name: "default" };
  return { path: resolve(folder, reference.slice(0, colon)), name: reference.slice(colon + 1) };
}

/** The module's own names, and of a CommonJS module also those that Node could not tell from its text. */
function exportsOf(module: Record<string, unknown>): Record<string, unknown> {
  const inner = module["default"];
  return typeof inner === "object" && inner !== null ? { ...inner, ...module } : module;
}

/** Milliseconds that a module waits for the one before it: one that waits for ever holds up nobody. */
const patience = 2_000;
let former: Promise<unknown> = Promise.resolve();

/** One after the other: a module that is being imported cannot be required by another one at the same time. */
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
 * What a user's module exports under the name in `reference`. Throws `config` for a file or a name that is not there,
 * and whatever the module itself throws.
 */
export async function loadExport(folder: string, reference: string, limit = loadLimit): Promise<unknown> {
  const { path, name } = placeOf(folder, reference);
  if (/^\.pyi?$/u.test(extname(path))) {
    throw new AppError("config", `${path} is Python; this server runs TypeScript and JavaScript.`);
  }
  if (statSync(path, { throwIfNoEntry: false })?.isFile() !== true) {
    throw new AppError("config", `There is no file ${path}.`);
  }
  // A module's exports are whatever its author made of them; who asked for them looks.
  const module = (await inTime(importInTurn(pathToFileURL(path).href), limit, path)) as Record<string, unknown>;
  const found = exportsOf(module);
  if (Object.hasOwn(found, name)) return found[name];
  const names = Object.keys(found).join(", ") || "nothing";
  throw new AppError("config", `${path} exports ${names}, not ${name}`);
}

/** What came of the work; throws `config` when it takes longer than `limit` milliseconds. */
export async function inTime<Result>(work: Promise<Result>, limit: number, what: string): Promise<Result> {
  return await withTimeout(work, limit, () => {
    throw new AppError("config", `${what} was not loaded after ${limit / 1000} s.`, {
      suggestion: "See what it waits for (a top-level await, a promise); MILLRACE_LOAD_SECONDS is how long it may.",
    });
  });
}
