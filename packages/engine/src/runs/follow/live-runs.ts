import { withTimeout } from "../../concurrency/abort.ts";
import type { PeerNotification, PeerNotifications } from "../../storage/cluster.ts";
import type { ActiveRun } from "../active-run.ts";

/** Milliseconds to wait for the answer of another server. */
const patience = 1_000;
/** Characters of an answer in one notification: within the limit of NOTIFY even at three bytes each. */
const partSize = 2_000;
/** The most notifications for one answer; a longer answer is not sent. */
const maxParts = 100;

/** The received parts of an answer. */
interface Answer {
  parts: (string | undefined)[];
  resolve(live: unknown): void;
}

/** The run of a session that is executed here. `activeRuns`: the runs of this server. */
export function findRunning(sessionId: string, activeRuns: ReadonlyMap<string, ActiveRun>): ActiveRun | undefined {
  return activeRuns.values().find(({ run, isExecuting }) => isExecuting && run.session_id === sessionId);
}

/**
 * The live state of runs, which exists only in the memory of the server that executes them. Other servers request it by a
 * notification and get it in as many notifications as it needs.
 */
export class LiveStates {
  readonly #notifications: PeerNotifications;
  readonly #activeRuns: ReadonlyMap<string, ActiveRun>;
  readonly #pending = new Map<string, Answer>();

  /** `activeRuns`: the runs of this server. */
  constructor(notifications: PeerNotifications, activeRuns: ReadonlyMap<string, ActiveRun>) {
    this.#notifications = notifications;
    this.#activeRuns = activeRuns;
    notifications.onNotification((notification, from) => {
      if (notification.type === "live")
        this.#reply(notification.ask, from, findRunning(notification.session_id, activeRuns)?.companion?.live);
      else if (notification.type === "lives") this.#receive(notification);
    });
  }

  /** The live state of a session's current run; `undefined` without one, or without an answer in time. */
  async of(session_id: string): Promise<unknown> {
    const own = findRunning(session_id, this.#activeRuns);
    if (own !== undefined || !this.#notifications.hasPeers || !this.#notifications.isListening)
      return own?.companion?.live;
    const ask = crypto.randomUUID();
    const { promise, resolve } = Promise.withResolvers<unknown>();
    this.#pending.set(ask, { parts: [], resolve });
    try {
      this.#notifications.send("all", { type: "live", session_id, ask });
      return await withTimeout(promise, patience, () => undefined);
    } finally {
      this.#pending.delete(ask);
    }
  }

  #reply(ask: string, to: number, live: unknown): void {
    if (live === undefined) return;
    const text = JSON.stringify(live);
    const parts = Math.ceil(text.length / partSize);
    if (parts > maxParts) return;
    for (let part = 0; part < parts; part += 1) {
      const piece = text.slice(part * partSize, (part + 1) * partSize);
      this.#notifications.send(to, { type: "lives", ask, part, parts, text: piece });
    }
  }

  #receive({ ask, part, parts, text }: Extract<PeerNotification, { type: "lives" }>): void {
    const answer = this.#pending.get(ask);
    if (answer === undefined) return;
    answer.parts[part] = text;
    const there = answer.parts.filter((one) => one !== undefined);
    if (there.length === parts) answer.resolve(JSON.parse(there.join("")));
  }
}
