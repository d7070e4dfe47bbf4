import { LRUCache } from "lru-cache";
import type { ModelLoader } from "../load-model.ts";

/**
 * Learned windows are never smaller than this, in tokens: the error's text is not ours, and a smaller window is
 * useless.
 */
const smallest = 1024;
/** Models remembered per loader; names come from requests, so it must be bounded. */
const maxModels = 100;
/** Share of the failed size that may fit if the error names no limit. */
const share = 0.9;
/** Characters of an error that are scanned. */
const readLength = 1000;

const learned = new WeakMap<ModelLoader, LRUCache<string, number>>();

/** A number as vendors write it: `8192`, `128,000`, `32k`. */
const number = "(\\d{1,3}(?:,\\d{3}){1,3}|\\d{3,9}|\\d{1,4}(?=k))(k?)";
/** Where errors name the limit; the first match counts. */
const patterns = [
  new RegExp(`maximum (?:context|input|prompt) (?:length|window|size)[^\\d]{0,30}${number}`, "iu"),
  new RegExp(`(?:context|input)[ _](?:length|window|size|limit)[^\\d]{0,30}${number}`, "iu"),
  new RegExp(`>\\s*${number} (?:tokens )?maximum`, "iu"),
  new RegExp(`(?:limit|maximum|max)[^\\d]{0,20}${number}\\s*tokens?`, "iu"),
  new RegExp(`(?:上下文|最大|上限|限制|不超过)[^\\d]{0,20}${number}`, "iu"),
];

/** The token limit in an error's text, English or Chinese; `undefined` if there is none. */
export function namedLimit(text: string): number | undefined {
  for (const pattern of patterns) {
    const match = pattern.exec(text.slice(0, readLength));
    if (match?.[1] === undefined) continue;
    return Number(match[1].replaceAll(",", "")) * (match[2] === "" ? 1 : 1024);
  }
  return undefined;
}

/**
 * Remembers, for the loader's lifetime, that a model could not read this much: the limit in its error, or a little less
 * than the estimated `tokens` that failed. A learned limit only shrinks.
 */
export function learnLimit(loader: ModelLoader, model: string, failed: { message: string; tokens: number }): void {
  const models = learned.get(loader) ?? new LRUCache<string, number>({ max: maxModels });
  learned.set(loader, models);
  const limit = Math.max(smallest, Math.floor(Math.min(namedLimit(failed.message) ?? Infinity, failed.tokens * share)));
  if (limit === Infinity) return;
  const known = models.get(model) ?? Infinity;
  models.set(model, Math.min(known, limit));
}

/** The smaller of `limit` and the model's learned limit, in tokens. */
export function withLearned(loader: ModelLoader, model: string, limit: number): number {
  return Math.min(limit, learned.get(loader)?.get(model) ?? Infinity);
}
