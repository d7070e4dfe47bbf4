import type { PeerNotifications } from "../../cluster.ts";
import type { Run } from "../../records.ts";

/** The part of its lease by which a server notifies itself. */
interface OwnLease {
  readonly id: number;
  heartbeatSoon(): void;
}

/** The server that owns a run; null for a run without an owner, which concerns all servers. */
type RunOwner = number | null;

/** Notifies other servers of writes that concern them. Without the notification, their next heartbeat finds them. */
export class PeerNotifier {
  readonly #notifications: PeerNotifications;
  readonly #own: OwnLease;

  constructor(notifications: PeerNotifications, own: OwnLease) {
    this.#notifications = notifications;
    this.#own = own;
  }

  /** A stop was requested for a run; `undefined` for a run that is over. */
  stopRequested(owner: RunOwner | undefined): void {
    if (owner === undefined || owner === this.#own.id) return;
    this.#notifications.send(owner ?? "all", { type: "look" });
    if (owner === null) this.#own.heartbeatSoon();
  }

  /** A run was queued. Its strategy may have requested stops of earlier runs at any server. */
  runQueued({ multitask_strategy: strategy }: Run): void {
    if (strategy === "interrupt" || strategy === "rollback") this.#notifications.send("all", { type: "look" });
  }

  /** Runs were released for other servers. */
  runsReleased(): void {
    this.#notifications.send("all", { type: "look" });
  }

  /** The next run of a session may start. */
  sessionFree(session_id: string): void {
    this.#notifications.send("all", { type: "free", session_id });
  }
}
