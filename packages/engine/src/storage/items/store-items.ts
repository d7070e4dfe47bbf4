import { z } from "zod";
import type { ItemIndex } from "./item-index.ts";
import { JsonObject } from "../records.ts";

/** An item that graphs and clients keep under a namespace and a key. Dates are ISO-8601 UTC. */
export const StoreItem = z.object({
  namespace: z.array(z.string()),
  key: z.string(),
  value: JsonObject,
  created_at: z.string(),
  updated_at: z.string(),
});
export type StoreItem = z.infer<typeof StoreItem>;

/**
 * An item that was found. `score` is how near it is to a query in meaning where there is an index, else the share of
 * the query's words that stand in it; without a query there is none.
 */
export interface FoundItem extends StoreItem {
  score?: number;
}

/** What is written: a value, or `null` to delete what is there. */
export interface ItemChange {
  namespace: readonly string[];
  key: string;
  value: JsonObject | null;
  /** The texts that a query looks at: all of them (default), none, or those at these paths, as `notes[*].text`. */
  index?: false | readonly string[] | undefined;
  /** Minutes that the item stays after it was last written or read; `null` and by default for ever. */
  ttl?: number | null | undefined;
}

/** Which items are looked for: those whose namespace begins with `prefix`, which may be empty. */
export interface ItemQuery {
  prefix: readonly string[];
  /** What has to be in the values; see `matchesFilter`. */
  filter?: JsonObject | undefined;
  /** By which what is found is ordered; without it what was changed last comes first. */
  query?: string | undefined;
  limit: number;
  offset: number;
  /** Whether the time of what is found begins anew; default yes. */
  refresh?: boolean | undefined;
}

/** Which namespaces are listed. `*` in a prefix or suffix stands for any label. */
export interface NamespaceQuery {
  prefix?: readonly string[] | undefined;
  suffix?: readonly string[] | undefined;
  /** Longer ones are cut to so many labels. */
  maxDepth?: number | undefined;
  limit: number;
  offset: number;
}

/** Items by owner; an owner without a name is nobody. What has expired is not there, whether it was removed yet or not. */
export interface ItemStore {
  /** Writes all or nothing, in order. `embeds`: whether what an index wants of it is done, too, which may take long; default yes. */
  change(owner: string, changes: readonly ItemChange[], embeds?: boolean): Promise<void>;
  /** Does what an index still wants of items, for who holds others up while writing. What fails is done before a query. */
  embed(owner: string, places: readonly Pick<ItemChange, "namespace" | "key">[]): Promise<void>;
  /** `refresh`: whether its time begins anew; default yes. */
  get(owner: string, namespace: readonly string[], key: string, refresh?: boolean): Promise<StoreItem | undefined>;
  search(owner: string, query: ItemQuery): Promise<FoundItem[]>;
  /** In the order of their labels, each once. */
  namespaces(owner: string, query: NamespaceQuery): Promise<string[][]>;
  /** Removes what has expired, and says when the next item does (ISO date); `undefined` when none will. */
  expire(): Promise<string | undefined>;
  /** Calls back with the time (ISO date) at which an item that was written or read just now expires. */
  onExpiry(tell: (time: string) => void): void;
  /** From now on queries go by meaning; items of before are embedded when something is looked for among them. */
  useIndex(index: ItemIndex): void;
  /** Removes all items of an owner. */
  clear(owner: string): Promise<void>;
}
