import { createHash } from "node:crypto";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { z } from "zod";
import type { GraphSource } from "./descriptions.ts";
import { TypeSchemas, type FoundTypes } from "./type-schemas.ts";

/** Raised when something else is read out of the same types: what was kept before is read anew. */
const version = "1";

/** What the types of a graph said, and of which files they are, each with a hash of what stood in it. */
const Kept = z.object({ files: z.record(z.string(), z.string()), schemas: TypeSchemas });

/** Where in the folder `cache` the types of a graph are kept. */
export function keptFile(cache: string, { path, name }: GraphSource): string {
  return join(cache, `${hashOf(`${version}\0${path}\0${name}`)}.json`);
}

/** What is kept in a file, `undefined` when there is nothing or one of the sources has changed since. */
export async function readKept(file: string): Promise<TypeSchemas | undefined> {
  let kept: z.infer<typeof Kept>;
  try {
    kept = Kept.parse(JSON.parse(await readFile(file, "utf8")));
  } catch {
    // Not there, or not whole: it is made again.
    return undefined;
  }
  const now = await hashesOf(Object.keys(kept.files));
  return Object.entries(kept.files).every(([source, hash]) => now[source] === hash) ? kept.schemas : undefined;
}

/** Keeps what the types of a graph said for as long as none of its files changes. */
export async function keepTypes(file: string, { files, ...schemas }: FoundTypes): Promise<void> {
  const kept: z.infer<typeof Kept> = { files: await hashesOf(files), schemas };
  await mkdir(dirname(file), { recursive: true });
  // A reader must never find half a file.
  await writeFile(`${file}.new`, JSON.stringify(kept));
  await rename(`${file}.new`, file);
}

async function hashesOf(files: readonly string[]): Promise<Record<string, string>> {
  const all = files.map(async (file) => [file, await hashOfFile(file)] as const);
  return Object.fromEntries(await Promise.all(all));
}

async function hashOfFile(file: string): Promise<string> {
  try {
    return hashOf(await readFile(file));
  } catch {
    return "none";
  }
}

function hashOf(content: string | Uint8Array): string {
  return createHash("sha256").update(content).digest("hex");
}
