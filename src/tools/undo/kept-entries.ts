import { constants } from "node:fs";
import { access, lstat } from "node:fs/promises";
import type { NotKept } from "@millrace/engine/sessions/questions/questions";
import { hasCode } from "@millrace/engine/errors/errors";
import type { Entry } from "../workspace/walk.ts";
import { canBeNamed, maxBytes, maxEntries, maxFileBytes } from "./snapshot.ts";

/** Whether all entries seen so far would be kept for undo. */
export interface KeptEntries {
  /** Looks at one more; at none once the answer is no. */
  add(entry: Pick<Entry, "path" | "real" | "kind">): Promise<void>;
  /** Why they would not all be kept; `null` if they would. */
  notKept(): NotKept | null;
}

/** Foretells what `snapshot` keeps, by sizes and kinds alone: it reads no content, and at most `maxEntries` sizes. */
export function keptEntries(): KeptEntries {
  let found: NotKept | null = null;
  let entries = 0;
  let bytes = 0;
  const judge = async ({ path, real, kind }: Pick<Entry, "path" | "real" | "kind">): Promise<NotKept | null> => {
    if (++entries > maxEntries) return { reason: "entries", most: maxEntries };
    if (kind === "other" || kind === "unreadable" || !canBeNamed(path)) return { reason: "kind", most: 0 };
    const size = kind === "file" ? await readableSize(real) : 0;
    if (size === undefined) return { reason: "kind", most: 0 };
    if (size > maxFileBytes) return { reason: "file_bytes", most: maxFileBytes };
    bytes += size;
    return bytes > maxBytes ? { reason: "bytes", most: maxBytes } : null;
  };
  return {
    add: async (entry) => {
      found ??= await judge(entry);
    },
    notKept: () => found,
  };
}

/** A file's size, 0 if it is gone by now; `undefined` if it cannot be read. */
async function readableSize(real: string): Promise<number | undefined> {
  try {
    await access(real, constants.R_OK);
    return (await lstat(real)).size;
  } catch (error) {
    if (hasCode(error, "ENOENT", "ENOTDIR", "ELOOP")) return 0;
    if (hasCode(error, "EACCES", "EPERM")) return undefined;
    throw error;
  }
}
