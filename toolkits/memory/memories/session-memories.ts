import { isSecret, isUser, ownerOfItems } from "@millrace/engine/config/api-keys";
import type { Config } from "@millrace/engine/config/config";
import { withTimeout } from "@millrace/engine/concurrency/abort";
import { AppError, errorMessage } from "@millrace/engine/errors/errors";
import { z } from "zod";
import { countText } from "../../../src/context/tokens/tokens.ts";
import type { SessionStart, SessionText, Toolkit, ToolkitServer } from "../../../src/toolkits/toolkit.ts";
import { ServiceKey } from "../../../src/tools/runtime/toolkit-services.ts";
import { knownMemories } from "../prompts/known-memories.ts";
import { limits, memoryLine, type Memory } from "./memory.ts";
import { openMemories, type MemoryStore } from "./memory-store.ts";

/** The memories of all owners, and those of a session's owner. */
export interface Memories {
  /** Whether runs read and save memories. */
  isOn: boolean;
  of(owner: string): MemoryStore;
  /** The memories of the session's owner. */
  own(): Promise<MemoryStore>;
}

/** The service's key. */
export const memoriesKey = new ServiceKey<Memories>("memories");

/** Keys of a run's context. */
export const memoryContext = {
  /** Whether the run reads and changes memories. Default yes. */
  memory: z.boolean().optional(),
};
const MemoryContext = z.object(memoryContext);

/** The text of the session; see `SessionText`. */
export const memoryFields = { session_memories: z.string().nullable().default(null) };

/** Opens the server's memories; without storage there are none. */
export function openMemory({ config, storage, services, isEnabled }: ToolkitServer): undefined {
  const { items, sessions } = storage;
  if (items === undefined || sessions === undefined) return;
  const of = openMemories(items, secretsOf(config));
  const isOn = config.memory && isEnabled;
  const ownerOf = async (sessionId: string, owner: string | undefined): Promise<string> =>
    memoryOwner(owner ?? (await sessions.get(sessionId))?.owner ?? null);
  services.add(memoriesKey, { isOn, of, own: async () => of(memoryOwner(null)) }, ({ sessionId, owner }) => ({
    isOn,
    of,
    own: async () => of(await ownerOf(sessionId, owner)),
  }));
}

/** The owner of memories: each user of `auth.path` has their own, apart from the store shared by all users. */
export function memoryOwner(owner: string | null): string {
  return isUser(owner) ? owner : ownerOfItems(owner);
}

/** Whether this server and this run use memories. */
export const isAvailable: NonNullable<Toolkit["isAvailable"]> = ({ services, context }) =>
  services.find(memoriesKey)?.isOn === true && MemoryContext.parse(context).memory !== false;

/** Minimum length of detected secrets; shorter strings occur in ordinary words. */
const minSecretLength = 6;

function secretsOf({ apiKeys, given }: Config): string[] {
  const ofVariables = Object.entries(given).flatMap(([name, value]) => (isSecret(name) ? value.split(",") : []));
  return [...apiKeys.map(({ key }) => key), ...ofVariables].filter((secret) => secret.trim().length >= minSecretLength);
}

/** The user's memories for new sessions. */
export const sessionMemories: SessionText = {
  field: "session_memories",
  async write({ services, ...about }) {
    const store = await services.get(memoriesKey).own();
    const lines = await chooseLines(store, about);
    return lines.length === 0 ? "" : about.prompts.text(knownMemories, { memories: lines.join("\n") });
  },
};

/** The order of memories if there is not room for all: slots come first. */
const ranks = { entity: 0, preference: 1, fact: 2 };

/** The lines of the text: slots and preferences first, then the facts closest to the first request. */
async function chooseLines(
  store: MemoryStore,
  { request, tokens, prompts, warn }: Pick<SessionStart, "request" | "tokens" | "prompts" | "warn">,
): Promise<string[]> {
  const all = await store.list();
  let room = tokens - countText(prompts.text(knownMemories, { memories: "" }));
  const costs = new Map(all.map((one) => [one.id, countText(`${memoryLine(one)}\n`)]));
  const costOf = ({ id }: Memory): number => costs.get(id) ?? 0;
  const isWhole = all.reduce((sum, one) => sum + costOf(one), 0) <= room;
  const near = isWhole || request.trim() === "" ? [] : await nearest(store, request, warn);
  const cosineSimilarity = new Map(near.map(({ id }, place) => [id, place]));
  const placeOf = ({ id }: Memory): number => cosineSimilarity.get(id) ?? near.length;
  const inOrder = all.toSorted((one, other) => ranks[one.kind] - ranks[other.kind] || placeOf(one) - placeOf(other));
  const chosen = new Set<string>();
  for (const one of inOrder) {
    if (costOf(one) > room) continue;
    room -= costOf(one);
    chosen.add(one.id);
  }
  return inOrder.filter(({ id }) => chosen.has(id)).map(memoryLine);
}

/** Time limit of a search before a session begins, in milliseconds. */
const patience = 1000;

/** Memories by relevance to a request; most recently changed first if the index cannot tell, or not in time. */
async function nearest(store: MemoryStore, request: string, warn: (reason: string) => void): Promise<Memory[]> {
  try {
    return await withTimeout(store.search(request.slice(0, 1000), limits.memories), patience, () => {
      throw new AppError("timeout", `the search among memories took longer than ${patience} ms`);
    });
  } catch (error) {
    warn(errorMessage(error));
    return [];
  }
}
