import type { ItemStore } from "../../storage/items/store-items.ts";

type Rest<Method extends (owner: string, ...rest: never[]) => unknown> = Method extends (
  owner: string,
  ...rest: infer Parameters
) => infer Result
  ? (...rest: Parameters) => Result
  : never;

/** The items of one owner. */
export type OwnItems = {
  [Name in "change" | "embed" | "get" | "search" | "namespaces" | "clear"]: Rest<ItemStore[Name]>;
};

/** The way of one owner to the store, which is that of the owner's graphs too. */
export function ownItems(items: ItemStore, owner: string): OwnItems {
  return {
    change: (changes, embeds) => items.change(owner, changes, embeds),
    embed: (places) => items.embed(owner, places),
    get: (namespace, key, refresh) => items.get(owner, namespace, key, refresh),
    search: (query) => items.search(owner, query),
    namespaces: (query) => items.namespaces(owner, query),
    clear: () => items.clear(owner),
  };
}
