import { fileURLToPath } from "node:url";
import { AppError, errorMessage, explain, isAppError } from "../errors/errors.ts";
import { isOwn } from "./hooks.ts";

/** A place in a user's file, as stacks name it. */
const place = /(?:file:\/\/)?(\/[^\s():]+\.[cm]?[jt]sx?):(\d+)/gu;

/**
 * Why a user's module could not be loaded, in one line: what went wrong, in which file and line, and what to do where
 * that is known.
 */
export function loadProblem(error: unknown): string {
  if (isAppError(error)) return oneLine(explain(error));
  const message = oneLine(errorMessage(error)).replace(/^(.*) Require stack: - (\S+).*$/u, "$1 imported from $2");
  const at = placeOf(error);
  const where = at === undefined || message.includes(at) ? message : `${at}: ${message}`;
  const remedy = remedyFor(error, message);
  return remedy === undefined ? where : `${where}${/[.!?]$/u.test(where) ? "" : "."} ${remedy}`;
}

/** What a module threw as an error of the configuration, with `what` it was wanted for. */
export function loadError(what: string, error: unknown): AppError {
  return new AppError("config", `${what} cannot be loaded: ${loadProblem(error)}`, { cause: error });
}

function oneLine(text: string): string {
  return text.replaceAll(/\s*\n\s*/gu, " ").trim();
}

/** The first place of the stack that is a user's; a module that cannot be linked is named before its message. */
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
