import { z } from "zod";
import { askThread } from "@millrace/engine/concurrency/ask-thread";
import { AppError } from "@millrace/engine/errors/errors";
import { createPlaces } from "@millrace/engine/concurrency/limits";
import { strokedTexts } from "./stroke-text.ts";

/** Milliseconds and megabytes that a picture may take. */
const [patience, mostMemory] = [20_000, 128];

/** The worker's file: beside this one, with the ending that this one has in the sources or in a bundle. */
const workerFile = new URL(import.meta.url.endsWith(".ts") ? "./plot-worker.ts" : "./plot-worker.js", import.meta.url);

/** Pictures that are drawn at once, of all sessions. */
const places = createPlaces(2);

const Picture = z.instanceof(Uint8Array);

/**
 * A picture of `plotSvg` as PNG, in its size, drawn in a thread of its own. Throws `execution_failed` and `timeout`,
 * and the signal's reason.
 */
export async function plotPng(svg: string, signal: AbortSignal): Promise<Uint8Array> {
  const work = {
    file: workerFile,
    data: strokedTexts(svg),
    megabytes: mostMemory,
    milliseconds: patience,
    late: tooSlow,
    broken: brokenDown,
  };
  return Picture.parse(await places.take(signal, () => askThread(work, signal)));
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
