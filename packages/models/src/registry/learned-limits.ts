import { LRUCache } from "lru-cache";
import type { ModelLoader } from "../load-model.ts";

/** No error makes a window smaller than this, in tokens: its words are not ours, and a model that reads less is of no use. */
const smallest = 1024;
/** Models that one loader remembers; names come from requests. */
const mostModels = 100;
/** Of the size that failed, what may fit where the error names no limit. */
const share = 0.9;
/** Characters of an error that are looked at. */
const readLength = 1000;

const learned = new WeakMap<ModelLoader, LRUCache<string, number>>();

/** A number as vendors write it: `8192`, `128,000`, `32k`. */
const number = "(\\d{1,3}(?:,\\d{3}){1,3}|\\d{3,9}|\\d{1,4}(?=k))(k?)";
/** Where an error names the limit; the first pattern that fits counts. */
const patterns = [
  new RegExp(`maximum (?:context|input|prompt) (?:length|window|size)[^\\d]{0,30}${number}`, "iu"),
  new RegExp(`(?:context|input)[ _](?:length|window|size|limit)[^\\d]{0,30}${number}`, "iu"),
  new RegExp(`>\\s*${number} (?:tokens )?maximum`, "iu"),
  new RegExp(`(?:limit|maximum|max)[^\\d]{0,20}${number}\\s*tokens?`, "iu"),
  new RegExp(`(?:上下文|最大|上限|限制|不超过)[^\\d]{0,20}${number}`, "iu"),
];

/** The limit in tokens that an error names, in English or Chinese; `undefined` where it names none. */
export function namedLimit(text: string): number | undefined {
  for (const pattern of patterns) {
    const match = pattern.exec(text.slice(0, readLength));
    if (match?.[1] === undefined) continue;
    return Number(match[1].replaceAll(",", "")) * (match[2] === "" ? 1 : 1024);
  }
  return undefined;
}

/**
 * Remembers that a model could not read so much, for as long as the loader lives: the limit that its error names, or a
 * little less than the estimated `tokens` that failed. What was learned before only becomes less.
 */
export function learnLimit(loader: ModelLoader, model: string, failed: { said: string; tokens: number }): void {
  const models = learned.get(loader) ?? new LRUCache<string, number>({ max: mostModels });
  learned.set(loader, models);
  const limit = Math.max(smallest, Math.floor(Math.min(namedLimit(failed.said) ?? Infinity, failed.tokens * share)));
  if (limit === Infinity) return;
  const known = models.get(model) ?? Infinity;
  models.set(model, Math.min(known, limit));
}

/** The smaller one of `limit` and what was learned of the model. Tokens. */
export function withLearned(loader: ModelLoader, model: string, limit: number): number {
  return Math.min(limit, learned.get(loader)?.get(model) ?? Infinity);
}
