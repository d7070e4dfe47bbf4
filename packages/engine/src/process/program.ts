import { getHeapStatistics, setFlagsFromString } from "node:v8";
import { type Config, currentConfig, unknownNames } from "../config/config.ts";
import { AppError, explain, isAppError } from "../errors/errors.ts";
import type { Logger } from "../logger.ts";
import { performance } from "node:perf_hooks";
import { runInNewContext } from "node:vm";
import { fileURLToPath } from "node:url";
import { isProgramSource } from "./folders.ts";
import { openProgramLog, type Served } from "./program-log.ts";

/** What a process runs: something that listens somewhere, and can be closed. */
interface Running extends Served {
  /** Whether nothing is under way that a pause of some tenths of a second would hold up. */
  isIdle(): boolean;
  /** How many runs work. */
  walking(): number;
  close(): Promise<void>;
}

/** Milliseconds in which a second signal is the same one: a terminal sends it to each process of a group, and they pass it on. */
const sameSignal = 1_000;

/**
 * The program: starts by the environment, where `defaults` stand for unset variables, says what it serves
 * where, and drains on SIGTERM or SIGINT; a second one, later than the same one can come twice, exits at once.
 */
export async function runProgram(
  start: (config: Config, logger: Logger) => Promise<Running>,
  defaults?: Record<string, string>,
): Promise<void> {
  // The heap may grow by two fifths between two collections instead of doubling: the same speed in half the memory.
  setFlagsFromString("--heap-growing-percent=40");
  try {
    const config = currentConfig(defaults);
    const log = await openProgramLog(config);
    const { logger } = log;
    guardProcess(logger, fail);
    for (const { name, nearest } of unknownNames()) {
      const remedy = nearest === undefined ? "see .env.example for the names" : `did you mean ${nearest}?`;
      logger.warn({ variable: name, remedy }, "unknown_variable");
    }
    const server = await start(config, logger);
    const endReturn = returnIdleMemory(() => server.isIdle());
    let stopping: number | undefined;
    const stop = (signal: NodeJS.Signals): void => {
      if (stopping !== undefined && performance.now() - stopping < sameSignal) return;
      if (stopping !== undefined) exitProcess(1);
      stopping = performance.now();
      endReturn();
      log.tellStop(signal, server.walking());
      server.close().then(
        () => exitProcess(0),
        (error: unknown) => fail(error),
      );
    };
    // Before those of users' modules, which may throw.
    process.prependListener("SIGTERM", stop);
    process.prependListener("SIGINT", stop);
    log.tellStart(server);
  } catch (error) {
    fail(error);
  }
}

function fail(error: unknown): never {
  const text = isAppError(error)
    ? explain(error)
    : error instanceof Error
      ? (error.stack ?? error.message)
      : String(error);
  process.stderr.write(`Millrace could not go on. ${text}\n`);
  exitProcess(1);
}

/** Milliseconds between two looks at whether anything is done. */
const lookInterval = 3_000;

/** Of that time, the share in which a server at rest may still do something: it looks at its clocks, and answers `/ok`. */
const quietShare = 0.02;

/** Idle checks in a row, after the start, before the server counts as idle. */
const quietLooks = 10;

/** Bytes that the heap has to have grown by to be worth the tenths of a second that a collection takes. */
const worthwhile = 16 * 1024 * 1024;

/** Bytes of a heap that is left as it is: what is alive in it would take a second and more to look through. */
const tooLarge = 384 * 1024 * 1024;

/** A heap that can be looked at. */
export interface Heap {
  /** Bytes that it takes of the machine's memory, garbage and empty pages too. */
  size(): number;
  /** Whether the process has done next to nothing since it was asked last. */
  isQuiet(): boolean;
  /** Collects all garbage, and gives the pages that are left empty back to the machine. */
  collect(): void;
}

/**
 * Gives back what work has taken of the machine's memory once it is over: V8 keeps it, above all the space for new
 * objects, and a process that does nothing allocates nothing, so that nothing would ever begin a collection. It happens
 * only while `isIdle`: as soon as the start is over, then after half a minute in which nothing was done, and not again
 * before the heap has grown. Answers with what ends it; it keeps no process alive.
 */
export function returnIdleMemory(isIdle: () => boolean, heap: Heap = ownHeap()): () => void {
  let kept = 0;
  let looks = 0;
  const timer = setInterval(() => {
    looks = heap.isQuiet() && isIdle() ? looks + 1 : 0;
    if (looks < (kept === 0 ? 1 : quietLooks)) return;
    const size = heap.size();
    if (size - kept < worthwhile || size > tooLarge) return;
    heap.collect();
    kept = heap.size();
  }, lookInterval).unref();
  return () => clearInterval(timer);
}

function ownHeap(): Heap {
  let before = performance.eventLoopUtilization();
  return {
    size: () => getHeapStatistics().total_physical_size,
    isQuiet() {
      const now = performance.eventLoopUtilization();
      const { utilization } = performance.eventLoopUtilization(now, before);
      before = now;
      return utilization < quietShare;
    },
    collect: collectGarbage,
  };
}

/** V8 lends its collector only to contexts that are made while the flag is set; the program's own, and users' code, have none. */
function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  const collect: unknown = runInNewContext("globalThis.gc");
  setFlagsFromString("--no-expose-gc");
  // As at the end of the memory: only this way the pages go back at once.
  if (typeof collect === "function") collect({ type: "major", execution: "sync", flavor: "last-resort" });
}

/** What ends the process: `process.exit` does not while the guard stands. */
const exitProcess: (code: number) => never = process.exit.bind(process);

/**
 * Keeps the modules of users, which run in this process, from ending it or changing its folder for all others: what
 * they call for that throws, and what they throw when nobody waits for it is logged. A failure in this program's own
 * code still ends it, as `onOwnFailure` says. Stands before the first of their modules is loaded.
 */
function guardProcess(logger: Logger, onOwnFailure: (error: unknown) => never): void {
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
