import { randomBytes } from "node:crypto";
import { KeyedMutex } from "@millrace/engine/concurrency/by-key";
import { AppError } from "@millrace/engine/errors/errors";
import type { ItemStore } from "@millrace/engine/storage/items/store-items";
import {
  isSame,
  limits,
  memoryId,
  noMemory,
  toMemory,
  type Memory,
  type MemoryChange,
  type MemoryInput,
} from "./memory.ts";
import { holdsSecret, secretRefused } from "./secret-words.ts";

/** The namespace of memories in their owner's store. */
const namespace = ["memories"];

/** A saved memory, and whether it replaced an equal one. */
export interface SavedMemory {
  memory: Memory;
  isMerged: boolean;
}

/** The memories of one owner. */
export interface MemoryStore {
  /** Most recently changed first. */
  list(): Promise<Memory[]>;
  /** The nearest first: semantically if the store has an index, else by words. */
  search(query: string, limit: number): Promise<Memory[]>;
  get(id: string): Promise<Memory | undefined>;
  /**
   * Saves a memory, or replaces one with equal content or the same slot. Throws `too_large` beyond the limits, and
   * `permission` for a secret.
   */
  save(input: MemoryInput): Promise<SavedMemory>;
  /** Throws `not_found`, and as `save` does. */
  update(id: string, change: MemoryChange): Promise<Memory>;
  delete(id: string): Promise<boolean>;
  /** Deletes all and returns their number. */
  clear(): Promise<number>;
}

/** Opens the memories of all owners. `secrets`: values that no memory may contain. */
export function openMemories(items: ItemStore, secrets: readonly string[]): (owner: string) => MemoryStore {
  // A read and the write that depends on it are one critical section.
  const mutex = new KeyedMutex();
  return (owner) => memoriesOf(items, { owner, mutex, secrets });
}

function memoriesOf(
  items: ItemStore,
  { owner, mutex, secrets }: { owner: string; mutex: KeyedMutex; secrets: readonly string[] },
): MemoryStore {
  const { read, get, write, remove, embed } = itemsOf(items, owner);
  const between = <Result>(work: () => Promise<Result>): Promise<Result> => mutex.run(owner, work);
  return {
    list: () => read(),
    search: (query, limit) => read({ query, limit }),
    get,
    async save(input) {
      refuseSecrets(input, secrets);
      const saved = await between(async () => {
        const all = await read();
        const same = all.find((one) => isSame(one, withSlot(input)));
        checkRoom(without(all, same === undefined ? [] : [same]), input);
        return { memory: await write(same?.id ?? freeId(all, input), input), isMerged: same !== undefined };
      });
      await embed(saved.memory.id);
      return saved;
    },
    async update(id, change) {
      const memory = await between(async () => {
        const all = await read();
        const before = all.find((one) => one.id === id);
        if (before === undefined) throw noMemory(id);
        const input = changed(before, change);
        refuseSecrets(input, secrets);
        const others = without(all, [before]);
        const same = others.filter((one) => isSame(one, withSlot(input)));
        checkRoom(without(others, same), input);
        await remove(same.map((one) => one.id));
        return await write(id, input);
      });
      await embed(id);
      return memory;
    },
    delete: (id) =>
      between(async () => {
        if ((await get(id)) === undefined) return false;
        await remove([id]);
        return true;
      }),
    clear: () =>
      between(async () => {
        const all = await read();
        await remove(all.map(({ id }) => id));
        return all.length;
      }),
  };
}

/** Memories as store items. */
function itemsOf(items: ItemStore, owner: string) {
  const get = async (id: string): Promise<Memory | undefined> => {
    const item = await items.get(owner, namespace, id, false);
    return item && toMemory(item);
  };
  return {
    get,
    read: async (query?: { query: string; limit: number }): Promise<Memory[]> => {
      const page = { limit: limits.memories, offset: 0, refresh: false, ...query };
      const found = await items.search(owner, { prefix: namespace, ...page });
      return found.flatMap((item) => toMemory(item) ?? []);
    },
    /** Embedding follows later: it takes time, in which others may write. */
    write: async (id: string, { kind, slot = null, content }: MemoryInput): Promise<Memory> => {
      const index = slot === null ? ["content"] : ["slot", "content"];
      await items.change(owner, [{ namespace, key: id, value: { kind, slot, content }, index }], false);
      const memory = await get(id);
      if (memory === undefined) throw noMemory(id);
      return memory;
    },
    remove: async (ids: readonly string[]): Promise<void> => {
      if (ids.length > 0)
        await items.change(
          owner,
          ids.map((key) => ({ namespace, key, value: null })),
        );
    },
    embed: (key: string): Promise<void> => items.embed(owner, [{ namespace, key }]),
  };
}

/** The id of a new memory: its own one, unless a memory that was changed since has it. */
function freeId(all: readonly Memory[], input: MemoryInput): string {
  const id = memoryId(input);
  return all.some((one) => one.id === id) ? randomBytes(4).toString("hex") : id;
}

function without(all: readonly Memory[], some: readonly Memory[]): Memory[] {
  return all.filter((one) => !some.includes(one));
}

function withSlot({ slot, content }: MemoryInput): Pick<Memory, "slot" | "content"> {
  return { slot: slot ?? null, content };
}

/** A changed memory. Kinds other than `entity` have no slot. */
function changed(
  before: Memory,
  { kind = before.kind, slot = before.slot, content = before.content }: MemoryChange,
): MemoryInput {
  if (kind === "entity" && slot === null) {
    throw new AppError("invalid_parameter", "An entity needs a slot, such as employer.", {
      suggestion: "Send slot with it, or another kind.",
    });
  }
  return { kind, slot: kind === "entity" ? slot : null, content };
}

function refuseSecrets({ slot, content }: MemoryInput, secrets: readonly string[]): void {
  if (holdsSecret(typeof slot !== "string" ? content : `${slot}: ${content}`, secrets)) throw secretRefused();
}

function checkRoom(others: readonly Memory[], { slot, content }: MemoryInput): void {
  const sum = others.reduce((total, one) => total + one.content.length + (one.slot?.length ?? 0), 0);
  const full =
    others.length >= limits.memories
      ? `${others.length} of ${limits.memories} memories are there`
      : sum + content.length + (slot?.length ?? 0) > limits.total
        ? `${sum} of ${limits.total} characters are taken`
        : undefined;
  if (full === undefined) return;
  throw new AppError("too_large", `Not saved: the memory is full, ${full}.`, {
    suggestion: "Delete or merge memories that are out of date first.",
  });
}
