import { z } from "zod";
import { runInThread } from "@millrace/engine/concurrency/run-in-thread";
import { AppError } from "@millrace/engine/errors/errors";
import { createSemaphore } from "@millrace/engine/concurrency/limits";

/** A page's content as Markdown, and its links. */
export const PageText = z.object({ title: z.string(), text: z.string(), links: z.array(z.string()) });
export type PageText = z.infer<typeof PageText>;

/** The worker's file: next to this one, with the same extension in sources or a bundle. */
const workerFile = new URL(import.meta.url.endsWith(".ts") ? "./page-worker.ts" : "./page-worker.js", import.meta.url);

/** Limits per page in milliseconds and megabytes. */
const [patience, maxMemory] = [10_000, 256];

/** Concurrent pages over all sessions. */
const places = createSemaphore(4);

/**
 * The text of an HTML page, read in a worker thread: endless or memory-hungry pages cannot harm the process. Throws
 * `timeout`, `invalid_format`, and the signal's reason.
 */
export async function pageText(html: string, base: string, signal: AbortSignal, within = patience): Promise<PageText> {
  const work = {
    file: workerFile,
    data: { html, base },
    megabytes: maxMemory,
    milliseconds: within,
    late: () => tooSlow(within),
    broken: unreadable,
  };
  return PageText.parse(await places.run(signal, () => runInThread(work, signal)));
}

function tooSlow(within: number): AppError {
  return new AppError("timeout", `The page could not be read as text within ${within / 1000} seconds.`, {
    suggestion: "Look for the same elsewhere.",
  });
}

function unreadable(cause: unknown): AppError {
  return new AppError("invalid_format", "The page could not be read as text: it is too large or too deeply nested.", {
    suggestion: "Look for the same elsewhere.",
    cause,
  });
}
