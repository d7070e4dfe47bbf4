import { z } from "zod";
import { AppError } from "../errors.ts";
import type { AuthEvent, RowFilter } from "../manifest/auth.ts";
import { Refusal } from "../manifest/refusal.ts";
import { contains } from "../storage/contains.ts";
import type { JsonObject } from "../storage/records.ts";
import { ask, type Guard } from "./guard.ts";
import type { OwnItems } from "./own-items.ts";

/** How many items are read at a time when a rule has to be asked about each, and how many at most. */
const batch = 500;
const mostRead = 10_000;

const Namespace = z.array(z.string());

/** The store as the rules of `auth.path` show it to one user: all users share it, and handlers may move a namespace. */
export function guardedItems(items: OwnItems, guard: Guard): OwnItems {
  return {
    async change(changes) {
      const allowed: Parameters<OwnItems["change"]>[0][number][] = [];
      for (const change of changes) {
        const { namespace, key, value } = change;
        const event = value === null ? "store:delete" : "store:put";
        const asked = await askAbout(guard, event, namespace, { key, ...(value !== null && { value }) });
        if (!isShown({ ...value, namespace: asked.namespace, key }, asked.filter)) throw new Refusal(403, "Forbidden");
        allowed.push({ ...change, namespace: asked.namespace });
      }
      await items.change(allowed);
    },
    async get(namespace, key, refresh) {
      const asked = await askAbout(guard, "store:get", namespace, { key });
      const item = await items.get(asked.namespace, key, refresh);
      return item !== undefined && isShown({ ...item.value, namespace: item.namespace, key }, asked.filter)
        ? item
        : undefined;
    },
    async search(query) {
      const { prefix, filter, limit, offset, query: words } = query;
      const asked = await askAbout(guard, "store:search", prefix, { filter, limit, offset, query: words });
      const own = { ...query, prefix: asked.namespace };
      if (asked.filter === undefined) return await items.search(own);
      return await pageOf(query, async (place) => {
        const found = await items.search({ ...own, ...place });
        return found.map((item) => ({
          item,
          shown: isShown({ ...item.value, namespace: item.namespace, key: item.key }, asked.filter),
        }));
      });
    },
    async namespaces(query) {
      const { prefix = [], suffix, maxDepth: max_depth, limit, offset } = query;
      const asked = await askAbout(guard, "store:list_namespaces", prefix, { suffix, max_depth, limit, offset });
      const own = { ...query, prefix: asked.namespace };
      if (asked.filter === undefined) return await items.namespaces(own);
      return await pageOf(query, async (place) => {
        const found = await items.namespaces({ ...own, ...place });
        return found.map((item) => ({ item, shown: isShown({ namespace: item }, asked.filter) }));
      });
    },
    clear: () => items.clear(),
  };
}

/** What the handler says, and the namespace it has left. */
async function askAbout(
  guard: Guard,
  event: AuthEvent,
  namespace: readonly string[],
  rest: JsonObject,
): Promise<{ namespace: string[]; filter: RowFilter | undefined }> {
  const value: JsonObject = { namespace: [...namespace], ...rest };
  const filter = await ask(guard, event, value);
  const moved = Namespace.safeParse(value["namespace"]);
  if (moved.success) return { namespace: moved.data, filter };
  throw new AppError("config", `The handler of auth.path for ${event} left a namespace that is none.`, {
    suggestion: "value.namespace is a list of texts.",
  });
}

function isShown(about: JsonObject, filter: RowFilter | undefined): boolean {
  return filter === undefined || contains(about, filter);
}

/** The page of what is shown, read from the beginning: how much of what is there is not shown is not known. */
async function pageOf<Item>(
  { limit, offset }: { limit: number; offset: number },
  read: (place: { limit: number; offset: number }) => Promise<{ item: Item; shown: boolean }[]>,
): Promise<Item[]> {
  const shown: Item[] = [];
  for (let at = 0; at < mostRead; at += batch) {
    const found = await read({ limit: batch, offset: at });
    shown.push(...found.filter((one) => one.shown).map(({ item }) => item));
    if (found.length < batch || shown.length >= offset + limit) return shown.slice(offset, offset + limit);
  }
  throw new AppError("too_large", `The rules of auth.path would have to be asked about more than ${mostRead} items.`, {
    suggestion: "Narrow the namespace, or let the handler change value.namespace instead of answering with a filter.",
  });
}
