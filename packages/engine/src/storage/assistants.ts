import { clusterDate } from "../concurrency/cluster-time.ts";
import { singleServer, type Cluster } from "./cluster.ts";
import type { AssistantPatch } from "./record-stores.ts";
import type { Assistant } from "./records.ts";

/** The next version of an assistant; `newest` is the number of the last one, used or not. */
export function nextVersion(assistant: Assistant, patch: AssistantPatch, newest: number): Assistant {
  return {
    ...assistant,
    ...patch,
    metadata: { ...assistant.metadata, ...patch.metadata },
    version: newest + 1,
    updated_at: clusterDate(),
  };
}

/** Maximum number of ids without a row that are remembered. */
const maxMissing = 1000;
/** Longer ids are not remembered: a client can send any text as an id. */
const uuidLength = 36;

/**
 * Which assistants have no row: every run looks twice for its graph's own one, which has none before a user changes it. While
 * other servers can add rows, each look asks.
 */
export class MissingAssistants {
  readonly #ids = new Set<string>();
  readonly #cluster: Pick<Cluster, "serverCount" | "peerEpoch">;
  #peerEpoch = 0;
  #changes = 0;

  constructor(cluster: Pick<Cluster, "serverCount" | "peerEpoch"> = singleServer) {
    this.#cluster = cluster;
  }

  /** What `find` finds, which is not asked where nothing was found before. */
  async look(assistantId: string, find: () => Promise<Assistant | undefined>): Promise<Assistant | undefined> {
    const { serverCount, peerEpoch } = this.#cluster;
    if (peerEpoch !== this.#peerEpoch) {
      this.#peerEpoch = peerEpoch;
      this.added();
    }
    if (serverCount > 1) return await find();
    if (this.#ids.has(assistantId)) return undefined;
    const changes = this.#changes;
    const found = await find();
    if (found === undefined && changes === this.#changes && assistantId.length <= uuidLength) {
      if (this.#ids.size >= maxMissing) this.#ids.clear();
      this.#ids.add(assistantId);
    }
    return found;
  }

  /** Says that a row was added. */
  added(): void {
    this.#changes += 1;
    this.#ids.clear();
  }
}

/** A name as PostgreSQL looks for it in any case; it has no NUL and no half of a surrogate pair. */
export function searchable(name: string): string {
  return name.toLowerCase().toWellFormed().replaceAll("\0", "\ufffd");
}
