import { z } from "zod";
import { checkFilter, type ItemIndex } from "./item-filter.ts";
import { JsonObject } from "../records.ts";
import {
  AsyncBatchedStore,
  BaseStore,
  type GetOperation,
  type ListNamespacesOperation,
  type Operation,
  type OperationResults,
  type PutOperation,
  type SearchOperation,
  validateNamespace,
} from "@langchain/langgraph-checkpoint";

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
  /** The minutes of `ItemChange.ttl`, where it has an end. */
  ttl?: number;
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
  /** What stays as the item that is there has it, if there is one. */
  keeps?: readonly ("index" | "ttl")[] | undefined;
  /**
   * What an item that is there has to contain, namespace and key included, to be changed: otherwise it is not deleted, and
   * `change` throws `not_found` for a value. Checked in the transaction that writes.
   */
  filter?: JsonObject | undefined;
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

/** Items by owner; an empty name means no owner. Expired items are not found, whether they were removed yet or not. */
export interface ItemStore {
  /** Writes all or nothing, in order. `embeds`: whether what an index wants of it is done, too, which may take long; default yes. */
  change(owner: string, changes: readonly ItemChange[], embeds?: boolean): Promise<void>;
  /** Does what an index still wants of items, for who holds others up while writing. What fails is done before a query. */
  embed(owner: string, places: readonly Pick<ItemChange, "namespace" | "key">[]): Promise<void>;
  /** `refresh`: whether its time begins anew; default yes. */
  get(owner: string, namespace: readonly string[], key: string, refresh?: boolean): Promise<FoundItem | undefined>;
  search(owner: string, query: ItemQuery): Promise<FoundItem[]>;
  /** In the order of their labels, each once. */
  namespaces(owner: string, query: NamespaceQuery): Promise<string[][]>;
  /** Removes what has expired, and says when the next item does (ISO date); `undefined` when none will. */
  expire(): Promise<string | undefined>;
  /** Calls back with the time (ISO date) at which an item that was written or read just now expires. */
  onExpiry(listener: (time: string) => void): void;
  /** From now on queries go by meaning; items of before are embedded when something is looked for among them. */
  useIndex(index: ItemIndex): void;
  /** Removes all items of an owner. */
  clear(owner: string): Promise<void>;
}

/** LangGraph's form of an item. */
function toLangGraph({ created_at, updated_at, ttl: _ttl, ...item }: FoundItem) {
  return { ...item, createdAt: new Date(created_at), updatedAt: new Date(updated_at) };
}

/** What a list of namespaces has to begin or end with. */
function pathOf(operation: ListNamespacesOperation, kind: "prefix" | "suffix"): string[] | undefined {
  return operation.matchConditions?.find(({ matchType }) => matchType === kind)?.path;
}

/**
 * The store as graphs use it (`config.store`, `getStore()`): the items of one owner, the same that `/store` shows.
 * `owner` is asked for at the first use. In a batch everything is read before anything is written, and of several
 * writes to one key the last one counts, as in LangGraph's own stores. Reading begins the time of an item anew.
 */
export class GraphStore extends BaseStore {
  readonly #items: ItemStore;
  readonly #askOwner: () => Promise<string>;
  #owner: Promise<string> | undefined;

  constructor(items: ItemStore, owner: () => Promise<string>) {
    super();
    this.#items = items;
    this.#askOwner = owner;
  }

  override async batch<Operations extends Operation[]>(operations: Operations): Promise<OperationResults<Operations>> {
    const owner = await (this.#owner ??= this.#askOwner());
    const puts = operations.filter((operation) => "value" in operation);
    for (const { namespace, value } of puts) {
      validateNamespace(namespace, { allowEmpty: value === null, allowReservedRoot: true });
    }
    const results: unknown[] = [];
    for (const operation of operations) results.push(await this.#read(owner, operation));
    if (puts.length > 0) await this.#items.change(owner, puts.map(toChange));
    // One result for each operation, of the kind that it asks for.
    return results as OperationResults<Operations>;
  }

  async #read(owner: string, operation: Operation): Promise<unknown> {
    if ("value" in operation) return undefined;
    if ("namespacePrefix" in operation) return await this.#search(owner, operation);
    if ("key" in operation) return await this.#get(owner, operation);
    return await this.#items.namespaces(owner, {
      prefix: pathOf(operation, "prefix"),
      suffix: pathOf(operation, "suffix"),
      maxDepth: operation.maxDepth,
      limit: operation.limit,
      offset: operation.offset,
    });
  }

  async #get(owner: string, { namespace, key }: GetOperation): Promise<unknown> {
    const item = await this.#items.get(owner, namespace, key);
    return item === undefined ? null : toLangGraph(item);
  }

  async #search(owner: string, operation: SearchOperation): Promise<unknown> {
    const { namespacePrefix: prefix, filter, query, limit = 10, offset = 0 } = operation;
    if (filter !== undefined) checkFilter(filter);
    const found = await this.#items.search(owner, { prefix, filter, query, limit, offset });
    return found.map(toLangGraph);
  }
}

function toChange({ namespace, key, value, index }: PutOperation) {
  return { namespace, key, value, index };
}

/** A queue in which LangGraph hands out a store; the part of it that a walk uses. */
interface StoreQueue {
  store: BaseStore;
  running: boolean;
}

/**
 * LangGraph hands the store to each walk, and to each subgraph of it, in a queue that looks a thousand times a second
 * whether something has come, for as long as the walk goes on. Afterwards such queues pass on at once what comes, with
 * its `index`, which they would lose, and lists and batches too, which they would refuse. Does nothing, and says
 * `false`, when the library is not shaped as the version this was written for (@langchain/langgraph-checkpoint 1.2).
 */
export function bypassStoreQueues(): boolean {
  const { prototype } = AsyncBatchedStore;
  const known = ["start", "stop", "put", "batch", "enqueueOperation"].every((name) => name in prototype);
  if (!known) return false;
  const methods = {
    start(this: StoreQueue): void {
      this.running = true;
    },
    // LangGraph's own refuses this one, and with it to list namespaces.
    batch<Operations extends Operation[]>(
      this: StoreQueue,
      operations: Operations,
    ): Promise<OperationResults<Operations>> {
      return this.store.batch(operations);
    },
    async enqueueOperation(this: StoreQueue, operation: Operation): Promise<unknown> {
      const [result] = await this.store.batch([operation]);
      return result;
    },
    put(this: StoreQueue, ...item: Parameters<BaseStore["put"]>): Promise<void> {
      return this.store.put(...item);
    },
  };
  // Two of them are private in the types, which stay as they are.
  Object.assign(prototype, methods);
  return true;
}
