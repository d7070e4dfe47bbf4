import type { PeerNotification } from "../../cluster.ts";
import { asyncCommit, type Statements } from "../database/database.ts";

/** Milliseconds between two batches. */
const batchInterval = 10;
/** The most notifications in the queue. During an outage further ones are dropped, and receivers find the changes by polling. */
const queueLimit = 10_000;

/** The channel of one server, by its id, or of all servers. */
export const channelOf = (to: number | "all"): string => `millrace_${to}`;

/** The payload of a notification from a server. */
export const encodeNotification = (from: number, notification: PeerNotification): string =>
  JSON.stringify([from, notification]);

const send = `SELECT pg_notify(channel, payload), ${asyncCommit} FROM unnest($1::text[], $2::text[]) AS batch (channel, payload)`;

/**
 * Sends notifications in batches without duplicates, one statement at a time and at most a hundred a second. Never within
 * another transaction: commits with NOTIFY are serialised.
 */
export class NotificationQueue {
  readonly #database: Statements;
  readonly #waiting = new Map<string, { channel: string; payload: string }>();
  #timer: NodeJS.Timeout | undefined;
  #sending: Promise<void> | undefined;
  #sentAt = 0;
  #isStopped = false;

  constructor(database: Statements) {
    this.#database = database;
  }

  /** Adds a notification to the next batch. Never throws. */
  enqueue(channel: string, payload: string): void {
    if (this.#isStopped || this.#waiting.size >= queueLimit) return;
    this.#waiting.set(`${channel} ${payload}`, { channel, payload });
    this.#arm();
  }

  #arm(): void {
    if (this.#isStopped || this.#sending !== undefined || this.#timer !== undefined || this.#waiting.size === 0) return;
    const wait = Math.max(0, this.#sentAt + batchInterval - performance.now());
    this.#timer = setTimeout(() => this.#send(), wait).unref();
  }

  #send(): void {
    this.#timer = undefined;
    this.#sentAt = performance.now();
    const batch = [...this.#waiting.values()];
    this.#waiting.clear();
    const values = [batch.map(({ channel }) => channel), batch.map(({ payload }) => payload)];
    // Receivers find by polling what is lost here.
    this.#sending = this.#database
      .rows(send, values)
      .then(undefined, () => undefined)
      .then(() => {
        this.#sending = undefined;
        this.#arm();
      });
  }

  /** Accepts nothing more; resolves when the queue is sent. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#sending;
    if (this.#waiting.size > 0) this.#send();
    await this.#sending;
  }
}
