import { Worker } from "node:worker_threads";
import { z } from "zod";
import { AppError, errorMessage } from "../errors.ts";
import { strokedTexts } from "./stroke-text.ts";

/** Milliseconds and megabytes that a picture may take. */
const [patience, mostMemory] = [20_000, 128];

/** The worker's file: beside this one, with the ending that this one has in the sources or in a bundle. */
const workerFile = new URL(import.meta.url.endsWith(".ts") ? "./plot-worker.ts" : "./plot-worker.js", import.meta.url);

const Picture = z.instanceof(Uint8Array);

/**
 * A picture of `plotSvg` as PNG, in its size, drawn in a thread of its own. Throws `execution_failed` and `timeout`, and the
 * signal's reason.
 */
export async function plotPng(svg: string, signal: AbortSignal): Promise<Uint8Array> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>();
  const worker = new Worker(workerFile, {
    workerData: strokedTexts(svg),
    // The library gets nothing of the process: no environment, no arguments, no output.
    env: {},
    argv: [],
    stdout: true,
    stderr: true,
    resourceLimits: { maxOldGenerationSizeMb: mostMemory },
  });
  worker.stdout.resume();
  worker.stderr.resume();
  const stop = (): void => reject(signal.reason);
  signal.addEventListener("abort", stop, { once: true });
  const timer = setTimeout(() => reject(tooSlow()), patience);
  worker.on("message", (picture) => resolve(Picture.parse(picture)));
  worker.on("error", (error) => reject(brokenDown(errorMessage(error))));
  worker.on("exit", () => reject(brokenDown("it ended without a word")));
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", stop);
    await worker.terminate();
  }
}

function tooSlow(): AppError {
  return new AppError("timeout", `The picture took longer than ${patience / 1000} seconds.`, {
    suggestion: "Draw it as SVG.",
  });
}

function brokenDown(why: string): AppError {
  return new AppError("execution_failed", "The picture could not be drawn as PNG.", {
    suggestion: "Draw it as SVG.",
    cause: new Error(why),
  });
}
