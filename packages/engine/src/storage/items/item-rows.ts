import { z } from "zod";
import { clusterTime } from "../../concurrency/cluster-time.ts";
import { AppError } from "../../errors/errors.ts";
import { JsonObject } from "../records.ts";
import { json } from "../rows.ts";
import { contains } from "./contains.ts";
import { StoreItem, type ItemChange } from "./store-items.ts";

/** Which texts of an item are looked at; see `ItemChange.index`. */
const Indexed = json(z.union([z.literal(false), z.array(z.string()), z.null()]));

/** A row of `store_items` as it is shown. */
export const ItemRow = StoreItem.extend({
  id: z.number(),
  namespace: z.string().transform(splitNamespace),
  value: json(StoreItem.shape.value),
  ttl: z.number().nullable(),
});
export type ItemRow = z.infer<typeof ItemRow>;
/** The columns of an `ItemRow`. */
export const itemColumns = "id, namespace, key, value, ttl, created_at, updated_at";

/** An item that is about to be changed. */
export const ChangedRow = ItemRow.extend({ indexed: Indexed });
export type ChangedRow = z.infer<typeof ChangedRow>;
/** The columns of a `ChangedRow`. */
export const changedColumns = `${itemColumns}, indexed`;

/** What is looked into for a filter or words. */
export const ContentRow = z.object({ id: z.number(), value: json(z.unknown()), indexed: Indexed });
export type ContentRow = z.infer<typeof ContentRow>;

/** An item without vectors, with its value as it was written. */
export const PendingRow = z.object({ id: z.number(), value: z.string(), parsed: json(JsonObject), indexed: Indexed });
export type PendingRow = z.infer<typeof PendingRow>;
/** The columns of a `PendingRow`. */
export const pendingColumns = "id, value, value AS parsed, indexed";

/** A vector of an item; an item without texts has one that is empty. */
export const VectorRow = z.object({ item: z.number(), vector: z.instanceof(Uint8Array).nullable() });

/** A change as it is written. */
export interface WrittenItem {
  namespace: string;
  key: string;
  /** `null`: what is there is deleted. */
  value: string | null;
  indexed: string;
  ttl: number | null;
  expires_at: string | null;
  /** See `ItemChange`. */
  filter: ItemChange["filter"];
  keeps: NonNullable<ItemChange["keeps"]>;
}

/** Whether it matters to a change what is there. */
export function dependsOnItem({ filter, keeps }: WrittenItem): boolean {
  return filter !== undefined || keeps.length > 0;
}

/**
 * A change with what it keeps of the item that is there; none of one that it may not delete. Throws `not_found` for a value
 * in the place of a hidden one.
 */
export function changeOver(item: WrittenItem, found: ChangedRow | undefined): WrittenItem[] {
  const { filter, keeps, value } = item;
  if (found === undefined) return [item];
  const { namespace, key, indexed, ttl } = found;
  if (filter !== undefined && !contains({ ...found.value, namespace, key }, filter)) {
    if (value !== null) throw new AppError("not_found", "Item not found");
    return [];
  }
  return [
    {
      ...item,
      ...(keeps.includes("index") && { indexed: JSON.stringify(indexed) }),
      ...(keeps.includes("ttl") && { ttl, expires_at: ttl === null || value === null ? null : expiryAfter(ttl) }),
    },
  ];
}

/** Which items are to be embedded: those at these places, or at most `limit` below a namespace, last changed first. */
export type PendingQuery =
  | { places: readonly { namespace: readonly string[]; key: string }[] }
  | { prefix: readonly string[]; limit: number };

/**
 * What a database does for the items of the store; `ItemStore` is made of it. A namespace is its labels, each with a dot
 * behind it. What has expired is not there. Rows of ids come in the order of the ids, without those that are gone.
 */
export interface ItemRows {
  /**
   * Writes all or nothing, in order; vectors go with the value of which they were made. Returns what it has written, see
   * `changeOver`.
   */
  write(owner: string, items: readonly WrittenItem[]): Promise<WrittenItem[]>;
  at(owner: string, namespace: string, key: string): Promise<ItemRow | undefined>;
  rows(ids: readonly number[]): Promise<ItemRow[]>;
  contents(ids: readonly number[]): Promise<ContentRow[]>;
  /** The ids of the items in namespaces between two texts, or all, last changed first. */
  idsBelow(owner: string, range: Range | undefined, page: { limit?: number; offset: number }): Promise<number[]>;
  /** Each once, in any order. */
  namespaces(owner: string, range: Range | undefined): Promise<string[]>;
  expireAt(items: readonly { id: number; expires_at: string }[]): Promise<void>;
  /** Gives the time at which the next item goes. */
  removeExpired(): Promise<string | undefined>;
  clear(owner: string): Promise<void>;
  /** Items that are to be embedded and have no vectors of this maker. */
  pending(owner: string, wanted: PendingQuery, madeBy: string): Promise<PendingRow[]>;
  /** Keeps the vectors of items, in the place of others; not of those that have changed meanwhile. */
  keepVectors(made: readonly ItemVectors[], madeBy: string): Promise<void>;
  /** The vectors of items that a maker has made, in any order. */
  vectors(ids: readonly number[], madeBy: string): Promise<z.infer<typeof VectorRow>[]>;
}

/** The vectors of an item; a `null` alone for one without texts. */
export interface ItemVectors {
  row: PendingRow;
  vectors: readonly (Uint8Array | null)[];
}

/** From a text on, and up to another without that one. */
export interface Range {
  from: string;
  to: string;
}

/** The date so many minutes from now, as far as dates go. */
export function expiryAfter(ttl: number): string {
  return new Date(Math.min(clusterTime() + ttl * 60_000, 8.64e15)).toISOString();
}

/** A change in the form of its row. */
export function toWrittenItem({
  namespace,
  key,
  value,
  index,
  ttl = null,
  filter,
  keeps = [],
}: ItemChange): WrittenItem {
  return {
    namespace: joinNamespace(namespace),
    key,
    value: value === null ? null : JSON.stringify(value),
    indexed: JSON.stringify(index ?? null),
    ttl,
    expires_at: ttl === null || value === null ? null : expiryAfter(ttl),
    filter,
    keeps,
  };
}

/** A namespace as it is stored: each label with a dot behind it, so that what is below it begins with its text. */
export function joinNamespace(labels: readonly string[]): string {
  return labels.map((label) => `${label}.`).join("");
}

/** The labels of a stored namespace; a label holds no dot. */
export function splitNamespace(text: string): string[] {
  return text.split(".").slice(0, -1);
}

/** Between which texts all namespaces lie that begin with these labels; `undefined` for no labels, which all begin with. */
export function rangeOf(prefix: readonly string[]): Range | undefined {
  if (prefix.length === 0) return undefined;
  const from = joinNamespace(prefix);
  // The character after the dot.
  return { from, to: `${from.slice(0, -1)}/` };
}

/** The bytes of a vector as they are stored. */
export function bytesOf({ buffer, byteOffset, byteLength }: Float32Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}

/** The vector of stored bytes: a copy, since the bytes of a row need not begin where numbers may. */
export function floatsOf(bytes: Uint8Array): Float32Array {
  return new Float32Array(new Uint8Array(bytes).buffer);
}
