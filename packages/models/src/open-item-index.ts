import { LRUCache } from "lru-cache";
import { z } from "zod";
import { AppError, errorMessage, isAppError } from "@millrace/engine/errors/errors";
import type { Logger } from "@millrace/engine/logger";
import type { IndexSource } from "@millrace/engine/manifest/manifest";
import type { ItemIndex } from "@millrace/engine/storage/items/item-filter";
import { unlessAborted } from "@millrace/engine/concurrency/abort";
import { embedBy, type Embed } from "./embeddings.ts";
import type { ModelRegistry } from "./registry/registry.ts";

const Vectors = z.array(z.array(z.number()).or(z.instanceof(Float32Array)));

/** Cached query vectors: readers page through results, and rules of `auth.path` cause repeated queries. */
const maxQueries = 100;

/** The store's index configured in `langgraph.json`, if any. Throws as `embedBy` does. */
export function openItemIndex(
  source: IndexSource | undefined,
  models: ModelRegistry,
  logger: Pick<Logger, "warn">,
): ItemIndex | undefined {
  if (source === undefined) return undefined;
  const { embed: by, name, dims, fields } = source;
  const embed = typeof by === "string" ? embedBy(by, models, { dims, setting: "store.index.embed" }) : ofUser(by);
  const known = new LRUCache<string, Float32Array>({ max: maxQueries });
  const make = async (texts: readonly string[], signal: AbortSignal): Promise<Float32Array[]> =>
    checked(await embed(texts, signal), { texts, name, dims });
  return {
    madeBy: JSON.stringify([name, dims, fields]),
    fields,
    async embed(texts, signal) {
      const [text] = texts;
      if (text === undefined || texts.length > 1) return await make(texts, signal);
      const earlier = known.get(text);
      if (earlier !== undefined) return [earlier];
      const [vector = new Float32Array()] = await make(texts, signal);
      known.set(text, vector);
      return [vector];
    },
    onFailure: (error, items) => logger.warn({ ...about(error), items, embed: name }, "items_not_embedded"),
  };
}

/** The logged fields of an expected failure; unexpected ones are logged whole. */
function about(error: unknown): object {
  if (!isAppError(error)) return { err: error };
  const { code, message, suggestion } = error;
  return { error_type: code, reason: message, suggestion };
}

/** A user's function ignores abort signals: the caller is released, and a late result is discarded. */
function ofUser(embed: Exclude<IndexSource["embed"], string>): Embed {
  return async (texts, signal) => {
    signal.throwIfAborted();
    try {
      return Vectors.parse(await unlessAborted(embed([...texts]), signal)).map((vector) => [...vector]);
    } catch (error) {
      signal.throwIfAborted();
      throw new AppError("server", `The function of store.index.embed failed: ${errorMessage(error)}`, {
        suggestion: "It has to give a list of numbers for each text.",
        cause: error,
      });
    }
  };
}

function checked(
  vectors: readonly number[][],
  { texts, name, dims }: { texts: readonly string[]; name: string; dims: number },
): Float32Array[] {
  const wrong = vectors.find(({ length }) => length !== dims);
  if (vectors.length === texts.length && wrong === undefined) return vectors.map((vector) => Float32Array.from(vector));
  const received =
    wrong === undefined ? `${vectors.length} vectors for ${texts.length} texts` : `a vector of ${wrong.length} numbers`;
  throw new AppError("invalid_format", `${name} gave ${received}; store.index.dims says ${dims}.`, {
    suggestion: "Set store.index.dims of langgraph.json to the length of the vectors of that model.",
  });
}
