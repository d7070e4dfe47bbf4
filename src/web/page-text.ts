import { Worker } from "node:worker_threads";
import { z } from "zod";
import { AppError, errorMessage } from "../errors.ts";
import { createTurns } from "../turns.ts";

/** What a page says, as Markdown, and where it leads to. */
export const PageText = z.object({ title: z.string(), text: z.string(), links: z.array(z.string()) });
export type PageText = z.infer<typeof PageText>;

/** The worker's file: beside this one, with the ending that this one has in the sources or in a bundle. */
const workerFile = new URL(import.meta.url.endsWith(".ts") ? "./page-worker.ts" : "./page-worker.js", import.meta.url);

/** Milliseconds for one page, and megabytes of memory. */
const [patience, mostMemory] = [10_000, 256];

/** Pages that are read at once, of all sessions. */
const turns = createTurns(4);

/**
 * The text of a page of HTML. It is read in a thread of its own, which ends with it: a page that takes for ever, or all memory,
 * takes neither from the process. Throws `timeout`, `invalid_format`, and the signal's reason.
 */
export async function pageText(html: string, base: string, signal: AbortSignal, within = patience): Promise<PageText> {
  return await turns.take(signal, () => read(html, base, signal, within));
}

async function read(html: string, base: string, signal: AbortSignal, within: number): Promise<PageText> {
  const { promise, resolve, reject } = Promise.withResolvers<PageText>();
  const worker = new Worker(workerFile, {
    workerData: { html, base },
    // The library that reads it gets nothing of the process.
    env: {},
    argv: [],
    resourceLimits: { maxOldGenerationSizeMb: mostMemory, stackSizeMb: 4 },
  });
  const stop = (): void => reject(signal.reason);
  signal.addEventListener("abort", stop, { once: true });
  const timer = setTimeout(() => reject(tooSlow(within)), within);
  worker.on("message", (message) => resolve(PageText.parse(message)));
  worker.on("error", (error) => reject(unreadable(errorMessage(error))));
  worker.on("exit", () => reject(unreadable("it ended without a word")));
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", stop);
    await worker.terminate();
  }
}

function tooSlow(within: number): AppError {
  return new AppError("timeout", `The page could not be read as text within ${within / 1000} seconds.`, {
    suggestion: "Look for the same elsewhere.",
  });
}

function unreadable(why: string): AppError {
  return new AppError("invalid_format", "The page could not be read as text: it is too large or too deeply nested.", {
    suggestion: "Look for the same elsewhere.",
    cause: new Error(why),
  });
}
