import type { Hint } from "../../cluster.ts";
import { later, type Statements } from "../database/database.ts";

/** Milliseconds between two statements: what is to be told meanwhile goes with the next one. */
const gathering = 10;
/** The most that waits: where PostgreSQL does not answer, the rest is found by looking. */
const mostWaiting = 10_000;

/** Where the server of a number listens, and where all do. */
export const channelOf = (to: number | "all"): string => `millrace_${to}`;

/** A hint of a server as it is sent. */
export const noticeOf = (from: number, hint: Hint): string => JSON.stringify([from, hint]);

const send = `SELECT pg_notify(channel, payload), ${later} FROM unnest($1::text[], $2::text[]) AS told (channel, payload)`;

/**
 * Sends notices: one statement at a time with all that is to be told, each once, at most a hundred statements a second. Never
 * in the transaction of other work, whose commits would wait for each other.
 */
export class Notices {
  readonly #database: Statements;
  readonly #waiting = new Map<string, { channel: string; payload: string }>();
  #timer: NodeJS.Timeout | undefined;
  #sending: Promise<void> | undefined;
  #sentAt = 0;
  #isStopped = false;

  constructor(database: Statements) {
    this.#database = database;
  }

  /** Tells a channel soon. Never throws. */
  tell(channel: string, payload: string): void {
    if (this.#isStopped || this.#waiting.size >= mostWaiting) return;
    this.#waiting.set(`${channel} ${payload}`, { channel, payload });
    this.#arm();
  }

  #arm(): void {
    if (this.#isStopped || this.#sending !== undefined || this.#timer !== undefined || this.#waiting.size === 0) return;
    const wait = Math.max(0, this.#sentAt + gathering - performance.now());
    this.#timer = setTimeout(() => this.#send(), wait).unref();
  }

  #send(): void {
    this.#timer = undefined;
    this.#sentAt = performance.now();
    const told = [...this.#waiting.values()];
    this.#waiting.clear();
    const values = [told.map(({ channel }) => channel), told.map(({ payload }) => payload)];
    // What is lost here is found by looking, as what no connection hears.
    this.#sending = this.#database
      .rows(send, values)
      .then(undefined, () => undefined)
      .then(() => {
        this.#sending = undefined;
        this.#arm();
      });
  }

  /** Takes nothing more; resolves when what was to be told is sent. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#sending;
    if (this.#waiting.size > 0) this.#send();
    await this.#sending;
  }
}
