import { mkdir } from "node:fs/promises";
import { setTimeout as after } from "node:timers/promises";
import { errorMessage } from "../../errors/errors.ts";
import type { Logger } from "../../logger.ts";
import { unlessAborted } from "../../concurrency/unless-aborted.ts";
import type { Graphs } from "../load.ts";
import type { GraphSource, Reading } from "./descriptions.ts";
import { keepTypes, keptFile, readKept } from "./kept-types.ts";
import { readTypes } from "./read-types.ts";

/** Milliseconds that a request for schemas waits for types that are being read. */
const longestWait = 10_000;

/** What the reading of types needs. `cache` is a folder that stays. */
interface LearnOptions {
  graphs: Graphs;
  /** Where the graphs' manifest lies. */
  folder: string;
  cache: string;
  logger: Logger;
  wait?: number;
  read?: typeof readTypes;
}

/** The reading of types in the background. */
export interface Learning extends Reading {
  /** Settled when all is known that can be. Never rejects. */
  done: Promise<void>;
  stop(): Promise<void>;
}

/**
 * Finds out in the background what only types say of graphs: from the cache while no source has changed, else by the
 * compiler. A request for the schemas of a graph that is still being read waits for it, others do not.
 */
export function learnSchemas(options: LearnOptions): Learning {
  const ending = new AbortController();
  const known = new Map<string, PromiseWithResolvers<void>>(
    options.graphs.ids().map((id) => [id, Promise.withResolvers<void>()]),
  );
  const late = new Set<string>();
  const done = learn(options, (id) => known.get(id)?.resolve(), ending.signal)
    .catch((error: unknown) => {
      if (!ending.signal.aborted) options.logger.info({ reason: errorMessage(error) }, "schemas_not_read_from_types");
    })
    .finally(() => {
      for (const { resolve } of known.values()) resolve();
    });
  const learning = {
    done,
    stop: async () => {
      ending.abort();
      await done;
    },
    wait: async (id: string, signal: AbortSignal) => {
      const own = known.get(id)?.promise;
      if (own === undefined) return;
      const timer = new AbortController();
      const limit = options.wait ?? longestWait;
      const isLate = after(limit, true, { signal: timer.signal, ref: false }).catch(() => false);
      try {
        if (!(await unlessAborted(Promise.race([own.then(() => false), isLate]), signal))) return;
        // Told once: the next ones would say the same.
        if (late.has(id)) return;
        late.add(id);
        options.logger.warn({ graph_id: id, milliseconds: limit }, "schemas_not_read_in_time");
      } finally {
        timer.abort();
      }
    },
  };
  options.graphs.await(learning);
  return learning;
}

async function learn(
  { graphs, folder, cache, logger, read = readTypes }: LearnOptions,
  known: (id: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const untyped = await graphs.untyped();
  const ids = new Set(untyped.map(({ id }) => id));
  for (const id of graphs.ids()) if (!ids.has(id)) known(id);
  const wanted: { source: GraphSource; file: string }[] = [];
  for (const source of untyped) {
    const file = keptFile(cache, source);
    const kept = await readKept(file);
    if (kept === undefined) wanted.push({ source, file });
    else {
      graphs.learn(source.id, kept);
      known(source.id);
    }
  }
  if (wanted.length === 0) return;
  await mkdir(cache, { recursive: true });
  const sources = wanted.map(({ source }) => source);
  const found = await read(sources, { folder, scratch: cache, signal });
  for (const { source, file } of wanted) {
    const schemas = found.get(source.id);
    if (schemas === undefined) {
      logger.info({ graph_id: source.id }, "schemas_not_read_from_types");
      continue;
    }
    graphs.learn(source.id, schemas);
    known(source.id);
    await keepTypes(file, schemas);
  }
}
