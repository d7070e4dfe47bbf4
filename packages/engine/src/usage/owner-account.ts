import { limitsOf, type LimitName, type OwnerLimits } from "../config/owner-limits.ts";
import type { Run } from "../storage/records.ts";
import type { Storage } from "../storage/storage.ts";
import type { Usage, UsageEntry } from "../storage/usage.ts";
import { dayOf, readOwnUsage, type SpentLimit, spentLimit } from "./owner-usage.ts";

/** What the accounts of a server's runs share. */
export interface AccountParts {
  storage: Pick<Storage, "sessions" | "usage">;
  limits: OwnerLimits;
  /** How often each limit has kept a model from being asked. */
  refused: Partial<Record<LimitName, number>>;
}

/** What the model calls of one run use of its owner's limits. The owner is looked up when a model is asked. */
export class OwnerAccount {
  readonly #run: Pick<Run, "session_id" | "kwargs">;
  readonly #log: { count(entry: UsageEntry): void };
  readonly #parts: AccountParts;
  #owner: Promise<string> | undefined;

  constructor(run: Pick<Run, "session_id" | "kwargs">, log: { count(entry: UsageEntry): void }, parts: AccountParts) {
    this.#run = run;
    this.#log = log;
    this.#parts = parts;
  }

  /** Whether anybody's use is limited. */
  get hasLimits(): boolean {
    return Object.keys(this.#parts.limits).length > 0;
  }

  /** Counts an answer of a model; it is stored with the next write of the run. */
  async count(usage: Omit<Usage, "requests">): Promise<void> {
    this.#log.count({ ...usage, requests: 1, owner: await this.#ownerOf(), day: dayOf(Date.now()) });
  }

  /** The limit that forbids another model call; nothing is read for an owner without limits. */
  async spent(): Promise<SpentLimit | undefined> {
    const { limits: all, storage, refused } = this.#parts;
    if (!this.hasLimits) return undefined;
    const owner = await this.#ownerOf();
    const limits = limitsOf(all, owner);
    if (Object.keys(limits).length === 0) return undefined;
    const now = Date.now();
    const spent = spentLimit(limits, await readOwnUsage(storage.usage, owner, now), now);
    if (spent !== undefined) refused[spent.name] = (refused[spent.name] ?? 0) + 1;
    return spent;
  }

  #ownerOf(): Promise<string> {
    const { session_id, kwargs } = this.#run;
    this.#owner ??=
      kwargs.owner === undefined
        ? this.#parts.storage.sessions.get(session_id).then((session) => session?.owner ?? "")
        : Promise.resolve(kwargs.owner);
    return this.#owner;
  }
}
