import { createHash } from "node:crypto";
import type { FileHandle } from "node:fs/promises";
import type { Stats } from "node:fs";
import { hasCode, isAppError } from "@millrace/engine/errors/errors";
import { withFile } from "../../../src/tools/workspace/file-access.ts";
import { walk } from "../../../src/tools/workspace/walk.ts";
import type { Place } from "../../../src/tools/workspace/workspace-path.ts";

/** Where files are read. */
export interface ReadContext {
  workspace: string;
  repeated: boolean;
  signal: AbortSignal;
}

/** Bytes of a file that is embedded at most: what is larger is data or made by a program. */
export const largestFile = 512 * 1024;
/** A file that was changed so shortly ago may be changed again without another time of change. */
const settledAfter = 2000;

/** Files whose names say that they hold secrets: their text is not sent to the model's vendor unasked. */
const secretNames = /^\.env(?:\..+)?$|\.(?:pem|key|p12|pfx|jks|keystore)$|^id_(?:rsa|dsa|ecdsa|ed25519)$/iu;

/** The files at a place, in the order of a walk; links are not followed, and those that hold secrets are left out. */
export async function* filesAt(context: ReadContext, start: Place): AsyncGenerator<Place> {
  if (start.kind === "file") {
    if (!isSecret(start.path)) yield start;
    return;
  }
  for await (const { path, real, kind } of walk(context, start)) {
    if (kind === "file" && !isSecret(path)) yield { path, real, kind, existing: start.real, missing: [] };
  }
}

function isSecret(path: string): boolean {
  return secretNames.test(path.split("/").at(-1) ?? "");
}

/** What a file holds, or that it cannot have changed since it was read. `null`: no text, too large, or gone. */
type TextFile = { isKnown: true } | { isKnown: false; stamp: string; hash: string; bytes: number; text: string } | null;

/** Reads a text file, unless its stamp is the one that is known. */
export async function readText(context: ReadContext, place: Place, known: string | undefined): Promise<TextFile> {
  try {
    return await withFile(context, place, async (handle, stats) => {
      if (stats.size > largestFile) return null;
      const stamp = stampOf(stats);
      return stamp !== "" && stamp === known ? { isKnown: true } : await textOf(handle, stamp);
    });
  } catch (error) {
    context.signal.throwIfAborted();
    // Gone or exchanged since the walk met it, or not ours to read.
    if (isAppError(error) || hasCode(error, "ENOENT", "ELOOP", "EACCES", "EPERM", "ENXIO", "ENOTDIR")) return null;
    throw error;
  }
}

function stampOf({ size, mtimeMs, ctimeMs, ino }: Stats): string {
  return Date.now() - ctimeMs < settledAfter ? "" : [size, mtimeMs, ctimeMs, ino].join(" ");
}

async function textOf(handle: FileHandle, stamp: string): Promise<TextFile> {
  const content = await handle.readFile();
  if (content.length > largestFile || content.includes(0)) return null;
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(content);
    return {
      isKnown: false,
      stamp,
      hash: createHash("sha256").update(content).digest("hex"),
      bytes: content.length,
      text,
    };
  } catch {
    // Binary, or in another encoding.
    return null;
  }
}
