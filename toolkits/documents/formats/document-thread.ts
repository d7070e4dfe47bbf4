import { z } from "zod";
import { AppError, errorCodes } from "@millrace/engine/errors/errors";
import { runInThread } from "@millrace/engine/concurrency/run-in-thread";
import { createSemaphore } from "@millrace/engine/concurrency/limits";
import { Edits } from "../../../src/tools/files/apply-edits.ts";
import { readFormats } from "./document-format.ts";

/** The source syntax of a text that becomes a Word document. */
export const Syntax = z.enum(["html", "markdown"]);
export type Syntax = z.infer<typeof Syntax>;

const Bytes = z.custom<Uint8Array>((value) => value instanceof Uint8Array);

/** The job of a document thread. */
export const DocumentJob = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("read"), format: z.enum(readFormats), file: Bytes }),
  z.object({ kind: z.literal("write"), content: z.string(), syntax: Syntax }),
  z.object({ kind: z.literal("edit"), file: Bytes, edits: Edits }),
]);
export type DocumentJob = z.infer<typeof DocumentJob>;

/** Its single answer. */
export const DocumentAnswer = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("text"), text: z.string(), left_out: z.array(z.string()) }),
  z.object({ kind: z.literal("file"), file: Bytes, pictures: z.number() }),
  z.object({ kind: z.literal("edited"), file: Bytes.optional(), count: z.number(), kept: z.number() }),
  z.object({
    kind: z.literal("failed"),
    code: z.enum(errorCodes),
    message: z.string(),
    suggestion: z.string().optional(),
    message_zh: z.string().optional(),
  }),
]);
export type DocumentAnswer = z.infer<typeof DocumentAnswer>;

/** The worker's file: next to this one, with the same extension in sources or a bundle. */
const workerFile = new URL(
  import.meta.url.endsWith(".ts") ? "./document-worker.ts" : "./document-worker.js",
  import.meta.url,
);

/** Limits per document in milliseconds and megabytes: below the file tools' time limit. */
const [patience, maxMemory] = [20_000, 512];

/** Concurrent documents over all sessions. */
const places = createSemaphore(2);

/**
 * Processes a document in a worker thread, so that a document that takes forever or all memory does not affect the
 * process. Throws the document's errors (`invalid_format`, `too_large`), `timeout`, and the signal's reason.
 */
export async function inThread(
  job: DocumentJob,
  signal: AbortSignal,
  within = patience,
): Promise<Exclude<DocumentAnswer, { kind: "failed" }>> {
  const work = {
    file: workerFile,
    data: job,
    megabytes: maxMemory,
    milliseconds: within,
    late: () => tooSlow(within),
    broken: brokenDown,
  };
  const answer = DocumentAnswer.parse(await places.run(signal, () => runInThread(work, signal)));
  if (answer.kind !== "failed") return answer;
  const { code, message, suggestion, message_zh } = answer;
  throw new AppError(code, message, { suggestion, message_zh });
}

function tooSlow(within: number): AppError {
  return new AppError("timeout", `It took longer than ${within / 1000} seconds and was given up.`, {
    suggestion: "Ask the user for a smaller document, or for the part that matters.",
  });
}

function brokenDown(cause: unknown): AppError {
  return new AppError("too_large", "It takes more memory than a document may have, or is nested too deeply.", {
    suggestion: "Ask the user for a smaller document, or for the part that matters.",
    cause,
  });
}
