import { setTimeout as after } from "node:timers";
import { Worker } from "node:worker_threads";
import { AppError, errorMessage } from "../../errors.ts";
import { createTurns } from "../../turns.ts";
import { DocumentAnswer, type DocumentJob } from "./document-job.ts";

/** The worker's file: beside this one, with the ending that this one has in the sources or in a bundle. */
const workerFile = new URL(
  import.meta.url.endsWith(".ts") ? "./document-worker.ts" : "./document-worker.js",
  import.meta.url,
);

/** Milliseconds for one document, and megabytes of memory: below the time that a tool for files has. */
const [patience, mostMemory] = [20_000, 512];

/** Documents that are read or written at once, of all sessions. */
const turns = createTurns(2);

/**
 * Reads or writes a document in a thread of its own: one that takes for ever, or all memory, takes neither from the process.
 * Throws what the document is to blame for (`invalid_format`, `too_large`), `timeout`, and the signal's reason.
 */
export async function inThread(
  job: DocumentJob,
  signal: AbortSignal,
  within = patience,
): Promise<Exclude<DocumentAnswer, { kind: "failed" }>> {
  const answer = await turns.take(signal, () => ask(job, signal, within));
  if (answer.kind !== "failed") return answer;
  const { code, message, suggestion } = answer;
  throw new AppError(code, message, suggestion === null ? {} : { suggestion });
}

async function ask(job: DocumentJob, signal: AbortSignal, within: number): Promise<DocumentAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<DocumentAnswer>();
  const worker = new Worker(workerFile, {
    workerData: job,
    // Libraries get nothing of the process: no environment, no arguments, no output.
    env: {},
    argv: [],
    stdout: true,
    stderr: true,
    resourceLimits: { maxOldGenerationSizeMb: mostMemory, stackSizeMb: 4 },
  });
  worker.stdout.resume();
  worker.stderr.resume();
  const stop = (): void => reject(signal.reason);
  signal.addEventListener("abort", stop, { once: true });
  const timer = after(() => reject(tooSlow(within)), within);
  worker.on("message", (message) => resolve(DocumentAnswer.parse(message)));
  worker.on("error", (error) => reject(brokenDown(errorMessage(error))));
  worker.on("exit", () => reject(brokenDown("it ended without a word")));
  try {
    if (signal.aborted) stop();
    return await promise;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", stop);
    await worker.terminate();
  }
}

function tooSlow(within: number): AppError {
  return new AppError("timeout", `It took longer than ${within / 1000} seconds and was given up.`, {
    suggestion: "Ask the user for a smaller document, or for the part that matters.",
  });
}

function brokenDown(why: string): AppError {
  return new AppError("too_large", "It takes more memory than a document may have, or is nested too deeply.", {
    suggestion: "Ask the user for a smaller document, or for the part that matters.",
    cause: new Error(why),
  });
}
