import { enableCompileCache, getCompileCacheDir } from "node:module";
import { dirname } from "node:path";
import { setTimeout as after } from "node:timers";
import { getEnvironmentData, setEnvironmentData, Worker } from "node:worker_threads";
import { onAbort } from "./abort.ts";

/** Work for a thread of its own: the file of the thread, what it is given, and what it may take at most. */
export interface ThreadWork {
  file: URL;
  data: unknown;
  megabytes: number;
  milliseconds: number;
  /** What is thrown when the time is over. */
  late: () => Error;
  /** What is thrown when the thread ends without an answer, which a lack of memory makes it do. */
  broken: (cause: unknown) => Error;
}

const compiledFolder = "millrace: where Node keeps what it has compiled";

/**
 * Has Node keep what a thread compiles where the process keeps it: each thread loads its modules anew, a quarter of a short one's
 * time. Called by the thread before it imports more.
 */
export function keepCompiled(): void {
  const folder = getEnvironmentData(compiledFolder);
  if (typeof folder === "string") enableCompileCache(folder);
}

/**
 * The first message of a thread that is started for it and has ended when this returns: what takes for ever, or all
 * memory, takes neither from the process. The thread gets nothing of the process: no environment, no arguments, no
 * output. Throws what the work says, and the signal's reason. It asks for no place: do that before.
 */
export async function askThread(work: ThreadWork, signal: AbortSignal): Promise<unknown> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  const compiled = getCompileCacheDir?.();
  // The folder that was named; in it each version of Node has its own.
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
