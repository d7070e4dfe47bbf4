import { enableCompileCache, getCompileCacheDir } from "node:module";
import { dirname } from "node:path";
import { setTimeout as after } from "node:timers";
import { getEnvironmentData, setEnvironmentData, Worker } from "node:worker_threads";
import { onAbort } from "./abort.ts";

/** Work for a worker thread: its file, its input, and its limits. */
export interface ThreadTask {
  file: URL;
  data: unknown;
  megabytes: number;
  milliseconds: number;
  /** Creates the error for a timeout. */
  late: () => Error;
  /** Creates the error for a thread that ends without an answer, for example out of memory. */
  broken: (cause: unknown) => Error;
}

const compiledFolder = "millrace: where Node keeps what it has compiled";

/**
 * Enables the process's compile cache in a thread, saving a quarter of a short one's time: each thread loads its
 * modules anew. Called by the thread before its other imports.
 */
export function keepCompiled(): void {
  const folder = getEnvironmentData(compiledFolder);
  if (typeof folder === "string") enableCompileCache(folder);
}

/**
 * Resolves to the first message of a new thread, which has ended by then: endless or memory-hungry work cannot harm the
 * process. The thread inherits nothing: no environment, no arguments, no output. Throws the work's error or the
 * signal's reason. It takes no semaphore: do that first.
 */
export async function runInThread(work: ThreadTask, signal: AbortSignal): Promise<unknown> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  const compiled = getCompileCacheDir?.();
  // The configured folder; in it each version of Node has its own.
  if (compiled !== undefined) setEnvironmentData(compiledFolder, dirname(compiled));
  const worker = new Worker(work.file, {
    workerData: work.data,
    env: {},
    argv: [],
    stdout: true,
    stderr: true,
    resourceLimits: { maxOldGenerationSizeMb: work.megabytes },
  });
  worker.stdout.resume();
  worker.stderr.resume();
  const forget = onAbort(signal, () => reject(signal.reason));
  const timer = after(() => reject(work.late()), work.milliseconds);
  worker.once("message", resolve);
  worker.on("error", (error) => reject(work.broken(error)));
  worker.on("exit", () => reject(work.broken(new Error("it ended without a word"))));
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    forget();
    await worker.terminate();
  }
}
