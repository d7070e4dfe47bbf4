import { Socket } from "node:net";
import { parentPort, workerData } from "node:worker_threads";
import { keepCompiled } from "@millrace/engine/concurrency/run-in-thread";
import { errorMessage, isAppError } from "@millrace/engine/errors/errors";
import type { DocumentAnswer, DocumentJob } from "./document-thread.ts";
import type { DocumentText } from "./document-format.ts";

/** The worker thread for a single document. */
keepCompiled();

/** Maximum bytes of a single allocation caused by a document. */
const maxAllocationBytes = 64 * 1024 * 1024;

// Documents may reference remote or local pictures, which must not be fetched.
Socket.prototype.connect = () => {
  throw new Error("A document is read and written without the network.");
};

let isTooLarge = false;
// Memory outside the heap has no limit of its own, and a few compressed bytes may expand to any size.
globalThis.Uint8Array = new Proxy(Uint8Array, {
  construct(target, given: unknown[], made) {
    if (typeof given[0] === "number" && given[0] > maxAllocationBytes) {
      isTooLarge = true;
      throw new RangeError("The document is too large.");
    }
    // This constructor returns that type.
    return Reflect.construct(target, given, made) as Uint8Array<ArrayBuffer>;
  },
});

async function textOf(job: DocumentJob & { kind: "read" }): Promise<DocumentText> {
  switch (job.format) {
    case "docx":
      return (await import("../read/word-text.ts")).wordText(job.file);
    case "pdf":
      return (await import("../read/pdf-text.ts")).pdfText(job.file);
    case "odt":
      return (await import("../read/office-text.ts")).openDocumentText(job.file);
    case "pptx":
      return (await import("../read/office-text.ts")).slidesText(job.file);
    case "xlsx":
      return (await import("../read/workbook-text.ts")).workbookText(job.file);
    case "rtf":
      return (await import("../read/rich-text.ts")).richText(job.file);
  }
}

const verbs = { read: "read", write: "made", edit: "edited" };

async function answer(): Promise<DocumentAnswer> {
  // Imported as types only, from the module that checks the data: loading its schemas would take a sixth of the time
  // here.
  const job = workerData as DocumentJob;
  try {
    if (job.kind === "read") return { kind: "text", ...(await textOf(job)) };
    if (job.kind === "edit") {
      const { editWord } = await import("../edit/edit-word.ts");
      return { kind: "edited", ...editWord(job.file, job.edits) };
    }
    const { wordFile } = await import("../write/word-file.ts");
    return { kind: "file", ...(await wordFile(job.content, job.syntax)) };
  } catch (error) {
    if (isTooLarge) {
      const message = `It unpacks to pieces of more than ${maxAllocationBytes / 1024 / 1024} MB, which are not read.`;
      return { kind: "failed", code: "too_large", message, suggestion: "Ask the user for a smaller document." };
    }
    if (isAppError(error)) {
      const { code, message, suggestion, message_zh } = error;
      return { kind: "failed", code, message, suggestion, message_zh };
    }
    const message = `It cannot be ${verbs[job.kind]}: ${errorMessage(error).slice(0, 300)}`;
    return { kind: "failed", code: "invalid_format", message };
  }
}

parentPort?.postMessage(await answer());
