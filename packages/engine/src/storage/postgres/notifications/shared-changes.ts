import { withTimeout } from "../../../concurrency/abort.ts";
import type { ChangeListener } from "../../changes.ts";
import type { PeerNotification } from "../../cluster.ts";
import type { PostgresDatabase } from "../database/database.ts";
import type { PostgresNotifications } from "./notifications.ts";

/** Milliseconds between two renewals of a subscription, and until one expires. Without LISTEN the listener reads again as often. */
const [renewalInterval, subscriptionTtl] = [5_000, 12_000];
/** Milliseconds to wait for the answers of the other servers to the first subscription. */
const answerTimeout = 1_000;

/** Publishes the changes of this server to its own listener and to subscribed servers, and receives theirs. */
export class SharedChanges {
  readonly #notifications: PostgresNotifications;
  readonly #database: PostgresDatabase;
  /** The subscribed servers, each with the time at which its subscription expires. */
  readonly #subscribers = new Map<number, number>();
  #listener: { onChanges: ChangeListener; onMissed: () => void } | undefined;
  readonly #servers: { readonly serverCount: number };
  /** While the first subscription waits for answers: the servers that have answered, and what to call after the last one. */
  #answers: { from: Set<number>; complete: () => void } | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    notifications: PostgresNotifications,
    database: PostgresDatabase,
    servers: { readonly serverCount: number },
  ) {
    this.#notifications = notifications;
    this.#database = database;
    this.#servers = servers;
    notifications.onNotification((notification, from) => this.#receive(notification, from));
    notifications.onRestored(() => {
      notifications.send("all", { type: "joined" });
      if (this.#listener === undefined || !notifications.hasPeers) return;
      this.#subscribe("all");
      this.#listener.onMissed();
    });
  }

  /** See `Storage.watch`. */
  async watch(onChanges: ChangeListener, onMissed: () => void): Promise<void> {
    this.#listener = { onChanges, onMissed };
    this.#publishChanges();
    this.#timer ??= setInterval(() => this.#renew(), renewalInterval).unref();
    this.#subscribe("all");
    if (!this.#notifications.hasPeers || !this.#notifications.isListening) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#answers = { from: new Set(), complete: resolve };
    await withTimeout(promise, answerTimeout, () => undefined);
    this.#answers = undefined;
  }

  /** Stops renewing the subscription. */
  close(): void {
    clearInterval(this.#timer);
  }

  /** Renews the subscription. Without LISTEN no change of another server arrives, so that some may have been missed. */
  #renew(): void {
    this.#subscribe("all");
    if (this.#notifications.hasPeers && !this.#notifications.isListening) this.#listener?.onMissed();
  }

  #subscribe(of: number | "all"): void {
    this.#notifications.send(of, { type: "changes" });
  }

  #publishChanges(): void {
    this.#database.watch((changes) => {
      this.#listener?.onChanges(changes);
      const now = performance.now();
      for (const [server, until] of this.#subscribers) {
        if (until < now) this.#subscribers.delete(server);
        else for (const change of changes) this.#send(server, { type: "changed", change });
      }
    });
  }

  /** A change that is too long for a notification has to be read by the receiver. */
  #send(server: number, notification: PeerNotification): void {
    if (!this.#notifications.send(server, notification)) this.#notifications.send(server, { type: "missed" });
  }

  #receive(notification: PeerNotification, from: number): void {
    if (notification.type === "changed") this.#listener?.onChanges([notification.change]);
    if (notification.type === "missed" && !this.#isFirstAnswer(from)) this.#listener?.onMissed();
    if (notification.type === "joined" && this.#listener !== undefined) this.#subscribe(from);
    if (notification.type !== "changes") return;
    // A new subscriber has to read what changed before.
    if ((this.#subscribers.get(from) ?? 0) < performance.now()) this.#notifications.send(from, { type: "missed" });
    this.#subscribers.set(from, performance.now() + subscriptionTtl);
    this.#publishChanges();
  }

  /** The first answer of each server means that its later changes arrive: readers come only after that. */
  #isFirstAnswer(from: number): boolean {
    const answers = this.#answers;
    if (answers === undefined || answers.from.has(from)) return false;
    answers.from.add(from);
    if (answers.from.size >= this.#servers.serverCount - 1) answers.complete();
    return true;
  }
}
