import { z } from "zod";
import { AppError } from "../../errors/errors.ts";
import { type AuthEvent, Refusal, type RowFilter } from "../../manifest/auth.ts";
import { contains } from "../../storage/items/contains.ts";
import { JsonObject } from "../../storage/records.ts";
import type { ItemChange, ItemStore, StoreItem } from "../../storage/items/store-items.ts";
import { ask, type AuthorizationRules } from "./guard.ts";

/** Items read per batch if a rule must be asked about each, and the maximum. */
const batch = 500;
const maxRead = 10_000;

/** Labels are joined by dots in storage: a label with a dot would become two, possibly another user's. */
const Label = z.string().regex(/^[^.]+$/u);
const Place = z.object({ namespace: z.array(Label), key: z.string().optional(), value: JsonObject.optional() });

/**
 * A user's store under the rules of `auth.path`: all users share it, and handlers may move a namespace or key, and mark
 * what is written. What a filter hides seems missing but cannot be overwritten: 404. If no write is allowed, 403.
 */
export function guardedItems(items: OwnItems, guard: AuthorizationRules): OwnItems {
  return {
    async change(changes, embeds) {
      const ruled: ItemChange[] = [];
      for (const change of changes) ruled.push(await ruleOnChange(guard, change));
      await items.change(ruled, embeds);
    },
    // `change` ensures that this covers writable items only.
    embed: (places) => items.embed(places),
    async get(namespace, key, refresh) {
      // No item can exist there, which is not the handler's fault.
      if (namespace.includes("")) return undefined;
      const ruled = await ruleOn(guard, "store:get", namespace, { key });
      const place = [ruled.namespace, ruled.key ?? key] as const;
      if (ruled.filter === undefined) return await items.get(...place, refresh);
      const item = await items.get(...place, false);
      if (item === undefined || !isShown(contentOf(item), ruled.filter)) return undefined;
      return refresh === false ? item : await items.get(...place);
    },
    async search(query) {
      const { prefix, filter, limit, offset, query: words } = query;
      const ruled = await ruleOn(guard, "store:search", prefix, { filter, limit, offset, query: words });
      const own = { ...query, prefix: ruled.namespace };
      if (ruled.filter === undefined) return await items.search(own);
      const page = await pageOf(query, async (place) => {
        const found = await items.search({ ...own, ...place, refresh: false });
        return found.map((item) => ({ item, shown: isShown(contentOf(item), ruled.filter) }));
      });
      // Only visible items get their expiry refreshed.
      if (query.refresh !== false) await Promise.all(page.map(({ namespace, key }) => items.get(namespace, key)));
      return page;
    },
    async namespaces(query) {
      const { prefix = [], suffix, maxDepth: max_depth, limit, offset } = query;
      const ruled = await ruleOn(guard, "store:list_namespaces", prefix, { suffix, max_depth, limit, offset });
      const own = { ...query, prefix: ruled.namespace };
      if (ruled.filter === undefined) return await items.namespaces(own);
      return await pageOf(query, async (place) => {
        const found = await items.namespaces({ ...own, ...place });
        return found.map((item) => ({ item, shown: isShown({ namespace: item }, ruled.filter) }));
      });
    },
    async clear() {
      // Handlers are not asked who owns what: they move namespaces, and a filter for one namespace does not apply to
      // another.
      throw new AppError("permission", "The items of all users of auth.path are in one store, which is not cleared.", {
        suggestion: "DELETE /store/items removes one, as the rules have it; a key of the owner admin clears the store.",
      });
    },
  };
}

/** The handler's result, and the request as it changed it. */
async function ruleOn(
  guard: AuthorizationRules,
  event: AuthEvent,
  namespace: readonly string[],
  rest: JsonObject,
): Promise<z.infer<typeof Place> & { filter: RowFilter | undefined }> {
  const value: JsonObject = { namespace: [...namespace], ...rest };
  const filter = await ask(guard, event, value);
  const left = Place.safeParse(value);
  if (left.success) return { ...left.data, filter };
  const [problem] = left.error.issues.map(({ path }) => `value.${path.join(".")}`);
  throw new AppError("config", `The handler of auth.path for ${event} left ${problem} as nothing that can be kept.`, {
    suggestion:
      "Namespaces are lists of texts that are not empty and hold no dots, keys are texts, values are objects.",
  });
}

/** A change after the handler was asked, with the handler's filter. Throws if no write is allowed. */
async function ruleOnChange(guard: AuthorizationRules, change: ItemChange): Promise<ItemChange> {
  const isPut = change.value !== null;
  const rest = { key: change.key, ...(isPut && { value: change.value }) };
  const ruled = await ruleOn(guard, isPut ? "store:put" : "store:delete", change.namespace, rest);
  const { namespace, key = change.key, value = change.value, filter } = ruled;
  const ruledChange = { ...change, namespace, key, value: isPut ? value : null, filter };
  if (!isAllowed(ruledChange)) throw new Refusal(403, "Forbidden");
  return ruledChange;
}

/** Whether the filter allows such a write, whatever is there. */
function isAllowed({ namespace, key, value, filter }: ItemChange): boolean {
  if (filter === undefined) return true;
  const place = { namespace, key };
  if (value !== null) return isShown({ ...value, ...place }, filter);
  // The content of a deleted item is not known yet.
  return isShown(place, Object.fromEntries(Object.entries(filter).filter(([name]) => Object.hasOwn(place, name))));
}

/** What a filter is compared with. */
function contentOf({ namespace, key, value }: StoreItem): JsonObject {
  return { ...value, namespace, key };
}

function isShown(about: JsonObject, filter: RowFilter | undefined): boolean {
  return filter === undefined || contains(about, filter);
}

/** A page of visible items, read from the beginning: the number of hidden ones is unknown. */
async function pageOf<Item>(
  { limit, offset }: { limit: number; offset: number },
  read: (place: { limit: number; offset: number }) => Promise<{ item: Item; shown: boolean }[]>,
): Promise<Item[]> {
  const shown: Item[] = [];
  for (let at = 0; at < maxRead; at += batch) {
    const found = await read({ limit: batch, offset: at });
    shown.push(...found.filter((one) => one.shown).map(({ item }) => item));
    if (found.length < batch || shown.length >= offset + limit) return shown.slice(offset, offset + limit);
  }
  throw new AppError("too_large", `The rules of auth.path would have to be asked about more than ${maxRead} items.`, {
    suggestion: "Narrow the namespace, or let the handler change value.namespace instead of answering with a filter.",
  });
}

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

/** One owner's access to the store, shared by the owner's graphs. */
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
