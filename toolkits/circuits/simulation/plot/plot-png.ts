import { z } from "zod";
import { runInThread } from "@millrace/engine/concurrency/run-in-thread";
import { AppError } from "@millrace/engine/errors/errors";
import { createSemaphore } from "@millrace/engine/concurrency/limits";
import { strokedTexts } from "./stroke-text.ts";

/** Limits of rendering in milliseconds and megabytes. */
const [patience, maxMemory] = [20_000, 128];

/** The worker's file: next to this one, with the same extension in sources or a bundle. */
const workerFile = new URL(import.meta.url.endsWith(".ts") ? "./plot-worker.ts" : "./plot-worker.js", import.meta.url);

/** Concurrent renderings over all sessions. */
const places = createSemaphore(2);

const Picture = z.instanceof(Uint8Array);

/**
 * Renders a picture of `plotSvg` as PNG in a worker thread. Throws `execution_failed` and `timeout`, and the signal's
 * reason.
 */
export async function plotPng(svg: string, signal: AbortSignal): Promise<Uint8Array> {
  const work = {
    file: workerFile,
    data: strokedTexts(svg),
    megabytes: maxMemory,
    milliseconds: patience,
    late: tooSlow,
    broken: brokenDown,
  };
  return Picture.parse(await places.run(signal, () => runInThread(work, signal)));
}

function tooSlow(): AppError {
  return new AppError("timeout", `The picture took longer than ${patience / 1000} seconds.`, {
    suggestion: "Draw it as SVG.",
  });
}

function brokenDown(cause: unknown): AppError {
  return new AppError("execution_failed", "The picture could not be drawn as PNG.", {
    suggestion: "Draw it as SVG.",
    cause,
  });
}
