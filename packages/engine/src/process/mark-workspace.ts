import { randomUUID } from "node:crypto";
import { open, readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { errorMessage, hasCode } from "../errors/errors.ts";
import type { Logger } from "../logger.ts";

/** The file at the root of a workspace by which servers know that it is the same one. */
export const markerName = ".millrace-workspace";

/** Milliseconds between two looks at a file that another server is making, and how many of them there are. */
const [pause, looks] = [50, 20];

/**
 * The id of a workspace: a line in a file there, which the first server makes. Nothing, with a word in the log, where it can be
 * neither read nor made.
 */
export async function markWorkspace(workspace: string, logger: Pick<Logger, "warn">): Promise<string | undefined> {
  const file = join(workspace, markerName);
  try {
    return (await made(file)) ?? (await read(file));
  } catch (error) {
    logger.warn({ file, problem: errorMessage(error) }, "workspace_not_marked");
    return undefined;
  }
}

async function made(file: string): Promise<string | undefined> {
  const handle = await open(file, "wx").catch((error: unknown) => {
    // It is there; or what is there can only be read.
    if (hasCode(error, "EEXIST", "EROFS", "EACCES")) return undefined;
    throw error;
  });
  if (handle === undefined) return undefined;
  try {
    const id = randomUUID();
    await handle.writeFile(`${id}\n`);
    await handle.sync();
    return id;
  } finally {
    await handle.close();
  }
}

async function read(file: string): Promise<string> {
  for (let look = 1; ; look += 1) {
    const found = z.uuid().safeParse((await readFile(file, "utf8")).trim());
    if (found.success) return found.data;
    if (look === looks) throw new Error(`It has no id in it. Remove it while no server works with the folder.`);
    await sleep(pause);
  }
}
