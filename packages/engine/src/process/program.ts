import { getHeapStatistics, setFlagsFromString } from "node:v8";
import { type Config, currentConfig, unknownNames } from "../config/config.ts";
import { AppError, explain, isAppError } from "../errors/errors.ts";
import type { Logger } from "../logger.ts";
import { performance } from "node:perf_hooks";
import { runInNewContext } from "node:vm";
import { fileURLToPath } from "node:url";
import { isProgramSource } from "./folders.ts";
import { openProgramLog, type Served } from "./program-log.ts";

/** Something that listens and can be closed. */
interface Running extends Served {
  /** Whether nothing in progress would notice a pause of some tenths of a second. */
  isIdle(): boolean;
  /** The number of active runs. */
  walking(): number;
  /** Calls back when it can serve no more, since a later version has changed what it works on. */
  onOutdated(listener: () => void): void;
  close(): Promise<void>;
}

/** The exit code of a program that a later version has left behind: a start of the same version would fail. */
const outdatedCode = 3;

/**
 * Milliseconds in which a second signal counts as the same: a terminal signals each process of a group, and they pass
 * it on.
 */
const sameSignal = 1_000;

/**
 * Runs the program: starts from the environment with `defaults`, announces what it serves, and drains on SIGTERM or
 * SIGINT; a second, separate signal exits at once. A program that is outdated ends by itself.
 */
export async function runProgram(
  start: (config: Config, logger: Logger) => Promise<Running>,
  defaults?: Record<string, string>,
): Promise<void> {
  // Let the heap grow by two fifths between collections instead of doubling: the same speed in half the memory.
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
    const end = (code: number): void => {
      stopping = performance.now();
      endReturn();
      server.close().then(
        () => exitProcess(code),
        (error: unknown) => fail(error),
      );
    };
    const stop = (signal: NodeJS.Signals): void => {
      if (stopping !== undefined && performance.now() - stopping < sameSignal) return;
      if (stopping !== undefined) exitProcess(1);
      log.logStop(signal, server.walking());
      end(0);
    };
    // Before listeners of users' modules, which may throw.
    process.prependListener("SIGTERM", stop);
    process.prependListener("SIGINT", stop);
    server.onOutdated(() => {
      if (stopping !== undefined) return;
      logger.error({ exit_code: outdatedCode }, "outdated_server_ends");
      end(outdatedCode);
    });
    log.logStart(server);
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

/** Milliseconds between idle checks. */
const lookInterval = 3_000;

/** CPU share in that time below which a server is idle: it checks its timers, and answers `/ok`. */
const quietShare = 0.02;

/** Idle checks in a row, after the start, before the server counts as idle. */
const quietLooks = 10;

/** Heap growth in bytes that is worth a collection's tenths of a second. */
const worthwhile = 16 * 1024 * 1024;

/** Heaps above this size in bytes are left alone: tracing them would take a second or more. */
const tooLarge = 384 * 1024 * 1024;

/** A heap that can be looked at. */
export interface Heap {
  /** Bytes of the machine's memory it uses, including garbage and empty pages. */
  size(): number;
  /** Whether the process was nearly idle since the last call. */
  isQuiet(): boolean;
  /** Collects all garbage and returns empty pages to the machine. */
  collect(): void;
}

/**
 * Returns memory to the machine after work: V8 keeps it, above all the space for new objects, and an idle process
 * allocates nothing, so no collection would ever start. It runs only while `isIdle`: right after the start, then after
 * half a minute of idleness, and again only once the heap has grown. Returns a function that stops it; it does not keep
 * the process alive.
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

/**
 * V8 exposes its collector only to contexts created while the flag is set; the program's own, and users' code, have
 * none.
 */
function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  const collect: unknown = runInNewContext("globalThis.gc");
  setFlagsFromString("--no-expose-gc");
  // The mode for low memory: only this returns the pages at once.
  if (typeof collect === "function") collect({ type: "major", execution: "sync", flavor: "last-resort" });
}

/** Really exits; with the guard, `process.exit` does not. */
const exitProcess: (code: number) => never = process.exit.bind(process);

/**
 * Keeps users' modules, which run in this process, from ending it or changing its folder: such calls throw, and their
 * unhandled errors are logged. A failure in this program's own code still ends it, via `onOwnFailure`. Installed before
 * the first of their modules is loaded.
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
  // Listeners are not enough: a user module's listener that calls `process.exit` would still end the process.
  process.setUncaughtExceptionCaptureCallback((error) => {
    if (isOwn(error)) onOwnFailure(error);
    logger.error({ err: error }, "uncaught_exception");
  });
  process.on("unhandledRejection", (error) => logger.error({ err: error }, "unhandled_rejection"));
}

/** Its stack begins at the caller. */
function refusal(called: Function, message: string, suggestion: string): AppError {
  const error = new AppError("permission", message, { suggestion });
  Error.captureStackTrace(error, called);
  return error;
}

/** Whether the innermost file of a failure is this program's: neither a user's nor a package's. */
function isOwn(error: unknown): boolean {
  const stack = error instanceof Error ? (error.stack ?? "") : "";
  const [, file = ""] = /^\s+at .*?((?:file:\/\/)?\/[^\s()]*?)(?::\d+)+\)?$/mu.exec(stack) ?? [];
  const path = file.startsWith("file://") ? fileURLToPath(file) : file;
  return isProgramSource(path);
}
