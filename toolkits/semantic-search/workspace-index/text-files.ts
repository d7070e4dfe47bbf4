import { createHash } from "node:crypto";
import type { FileHandle } from "node:fs/promises";
import type { Stats } from "node:fs";
import { hasCode, isAppError } from "@millrace/engine/errors/errors";
import { withFile } from "../../../src/tools/workspace/file-access.ts";
import { walk } from "../../../src/tools/workspace/walk.ts";
import type { Place } from "../../../src/tools/workspace/workspace-path.ts";

/** The context for reading files. */
export interface ReadContext {
  workspace: string;
  repeated: boolean;
  signal: AbortSignal;
}

/** Maximum bytes of an embedded file: larger ones are data or generated. */
export const maxFileBytes = 512 * 1024;
/** A file changed this recently may change again without a new modification time. */
const settledAfter = 2000;

/** Files that contain secrets, judging by name: they are not sent to the model's vendor. */
const secretNames = /^\.env(?:\..+)?$|\.(?:pem|key|p12|pfx|jks|keystore)$|^id_(?:rsa|dsa|ecdsa|ed25519)$/iu;

/** The files at a path, in walking order; without links and files with secrets. */
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

/** A file's text, or that it is unchanged since it was read. `null`: not text, too large, or missing. */
type TextFile = { isKnown: true } | { isKnown: false; stamp: string; hash: string; bytes: number; text: string } | null;

/** Reads a text file, unless its stamp is already known. */
export async function readText(context: ReadContext, place: Place, known: string | undefined): Promise<TextFile> {
  try {
    return await withFile(context, place, async (handle, stats) => {
      if (stats.size > maxFileBytes) return null;
      const stamp = stampOf(stats);
      return stamp !== "" && stamp === known ? { isKnown: true } : await textOf(handle, stamp);
    });
  } catch (error) {
    context.signal.throwIfAborted();
    // Deleted or replaced since it was listed, or not readable.
    if (isAppError(error) || hasCode(error, "ENOENT", "ELOOP", "EACCES", "EPERM", "ENXIO", "ENOTDIR")) return null;
    throw error;
  }
}

function stampOf({ size, mtimeMs, ctimeMs, ino }: Stats): string {
  return Date.now() - ctimeMs < settledAfter ? "" : [size, mtimeMs, ctimeMs, ino].join(" ");
}

async function textOf(handle: FileHandle, stamp: string): Promise<TextFile> {
  const content = await handle.readFile();
  if (content.length > maxFileBytes || content.includes(0)) return null;
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
