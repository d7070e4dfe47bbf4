import { fileURLToPath } from "node:url";
import { AppError } from "../errors/errors.ts";
import type { Logger } from "../logger.ts";
import { isProgramSource } from "./program-folder.ts";

/** What ends the process: `process.exit` does not while the guard stands. */
export const exitProcess: (code: number) => never = process.exit.bind(process);

/**
 * Keeps the modules of users, which run in this process, from ending it or changing its folder for all others: what
 * they call for that throws, and what they throw when nobody waits for it is logged. A failure in this program's own
 * code still ends it, as `onOwnFailure` says. Stands before the first of their modules is loaded.
 */
export function guardProcess(logger: Logger, onOwnFailure: (error: unknown) => never): void {
  const instead = "Throw an error instead.";
  process.exit = function exit(code): never {
    throw refusal(exit, `process.exit(${code ?? ""}) would end the server.`, instead);
  };
  process.abort = function abort(): never {
    throw refusal(abort, "process.abort() would end the server.", instead);
  };
  process.chdir = function chdir(folder): never {
    const effect = "would change the folder of the whole server.";
    const advice = "Name files by their whole path: join(import.meta.dirname, …).";
    throw refusal(chdir, `process.chdir("${folder}") ${effect}`, advice);
  };
  // Listeners would not do: one of a user's module that calls `process.exit` would end the process all the same.
  process.setUncaughtExceptionCaptureCallback((error) => {
    if (isOwn(error)) onOwnFailure(error);
    logger.error({ err: error }, "uncaught_exception");
  });
  process.on("unhandledRejection", (error) => logger.error({ err: error }, "unhandled_rejection"));
}

/** Its stack begins where the call stands. */
function refusal(called: Function, message: string, suggestion: string): AppError {
  const error = new AppError("permission", message, { suggestion });
  Error.captureStackTrace(error, called);
  return error;
}

/** Whether the innermost file of a failure is one of this program's: not of a user's, and not of a package. */
function isOwn(error: unknown): boolean {
  const stack = error instanceof Error ? (error.stack ?? "") : "";
  const [, file = ""] = /^\s+at .*?((?:file:\/\/)?\/[^\s()]*?)(?::\d+)+\)?$/mu.exec(stack) ?? [];
  const path = file.startsWith("file://") ? fileURLToPath(file) : file;
  return isProgramSource(path);
}
