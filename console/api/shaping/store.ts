import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import * as z from "zod/mini";
import { perform, request } from "../client.ts";
import { queryClient } from "../threads.ts";

const Item = z.object({
  namespace: z.array(z.string()),
  key: z.string(),
  value: z.record(z.string(), z.unknown()),
  created_at: z.string(),
  updated_at: z.string(),
  /** The minutes that it stays after it was last written or read; without them for ever. */
  ttl: z.optional(z.number()),
});
/** Something that graphs or clients keep outside of threads. */
export type Item = z.infer<typeof Item>;

/** Where an item is. */
export type ItemPlace = Pick<Item, "namespace" | "key">;

/** Namespaces that are read at most: the tree is no place to look through more. */
const maxNamespaces = 1_000;

/** All namespaces that hold something. */
export function useNamespaces() {
  return useQuery({
    queryKey: ["store", "namespaces"],
    queryFn: async ({ signal }) => {
      const Found = z.object({ namespaces: z.array(z.array(z.string())) });
      const body = { limit: maxNamespaces };
      return (await request("/store/namespaces", Found, { method: "POST", body, signal })).namespaces;
    },
  });
}

const pageSize = 50;

/** The items below a namespace, last changed first; with words those that hold most of them, with a filter those that fit. */
export function useItems(namespace: readonly string[], words: string, filter?: Record<string, unknown>) {
  return useInfiniteQuery({
    queryKey: ["store", "items", namespace, words, filter],
    initialPageParam: 0,
    queryFn: async ({ pageParam, signal }) => {
      const body = {
        namespace_prefix: namespace,
        limit: pageSize,
        offset: pageParam,
        // To be looked at by a person keeps nothing alive.
        refresh_ttl: false,
        ...(words !== "" && { query: words }),
        ...(filter !== undefined && { filter }),
      };
      const Found = z.object({ items: z.array(Item) });
      return (await request("/store/items/search", Found, { method: "POST", body, signal })).items;
    },
    getNextPageParam: (page, pages) => (page.length < pageSize ? undefined : pages.length * pageSize),
    placeholderData: (before) => before,
  });
}

/** One item; `null`: there is none. */
export function useItem({ namespace, key }: ItemPlace) {
  return useQuery({
    queryKey: ["store", "item", namespace, key],
    queryFn: ({ signal }) => {
      const asked = new URLSearchParams({ namespace: namespace.join("."), key, refresh_ttl: "false" });
      return request(`/store/items?${asked.toString()}`, z.nullable(Item), { signal });
    },
  });
}

/** Writes an item; `ttl`: the minutes that it stays, `null` for ever. What is not said stays as the item there has it. */
export async function writeItem(
  { namespace, key }: ItemPlace,
  value: Item["value"],
  ttl: number | null | undefined,
): Promise<void> {
  await perform("/store/items", { method: "PUT", body: { namespace, key, value, ttl, keep_settings: true } });
  await queryClient.invalidateQueries({ queryKey: ["store"] });
}

/** Deletes items for ever. */
export async function deleteItems(places: readonly ItemPlace[]): Promise<void> {
  try {
    for (const { namespace, key } of places) {
      await perform("/store/items", { method: "DELETE", body: { namespace, key } });
    }
  } finally {
    await queryClient.invalidateQueries({ queryKey: ["store"] });
  }
}
