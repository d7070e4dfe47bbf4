import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { errorMessage } from "../errors.ts";
import type { Logger } from "../logger.ts";
import type { Graphs } from "./load.ts";
import { readTypes, TypeSchemas, type GraphSource } from "./read-types.ts";
import { sourceHash } from "./source-hash.ts";
import { typeProbe } from "./type-probe.ts";

/** What the reading of types needs. `cache` is a folder that stays. */
interface LearnOptions {
  graphs: Graphs;
  /** Where the graphs' manifest lies. */
  folder: string;
  cache: string;
  logger: Logger;
}

/** The reading of types in the background. */
export interface Learning {
  /** Settled when all is known that can be. Never rejects. */
  done: Promise<void>;
  stop(): Promise<void>;
}

/**
 * Finds out in the background what only types say of graphs: from the cache while no source has changed, else by the
 * compiler. Until then, and where there is none, their schemas name the channels; nobody waits for it.
 */
export function learnSchemas(options: LearnOptions): Learning {
  const ending = new AbortController();
  const done = learn(options, ending.signal).catch((error: unknown) => {
    if (!ending.signal.aborted) options.logger.info({ reason: errorMessage(error) }, "schemas_not_read_from_types");
  });
  return {
    done,
    stop: async () => {
      ending.abort();
      await done;
    },
  };
}

async function learn({ graphs, folder, cache, logger }: LearnOptions, signal: AbortSignal): Promise<void> {
  const wanted: { source: GraphSource; file: string }[] = [];
  for (const source of graphs.untyped()) {
    const file = join(cache, `${sourceHash(source.path, typeProbe(source.path, source.name))}.json`);
    const known = await readCached(file);
    if (known === undefined) wanted.push({ source, file });
    else graphs.learn(source.id, known);
  }
  if (wanted.length === 0) return;
  await mkdir(cache, { recursive: true });
  const sources = wanted.map(({ source }) => source);
  const found = await readTypes(sources, { folder, scratch: cache, signal });
  for (const { source, file } of wanted) {
    const schemas = found.get(source.id);
    if (schemas === undefined) {
      logger.info({ graph_id: source.id }, "schemas_not_read_from_types");
      continue;
    }
    graphs.learn(source.id, schemas);
    // A reader must never find half a file.
    await writeFile(`${file}.new`, JSON.stringify(schemas));
    await rename(`${file}.new`, file);
  }
}

async function readCached(file: string): Promise<TypeSchemas | undefined> {
  try {
    return TypeSchemas.safeParse(JSON.parse(await readFile(file, "utf8"))).data;
  } catch {
    // Not there, or not whole: it is made again.
    return undefined;
  }
}
