import { isOver } from "../status.ts";
import type { RunMark } from "../../storage/records.ts";

/** Milliseconds between two renewals of a subscription, and between two polls: with notifications, and without. */
const [renewalInterval, pollInterval, fastPollInterval] = [5_000, 1_000, 250];

/** A run that starts, or that has ended before it started. */
export interface RunStart {
  run_id: string;
  hasBegun: boolean;
}

/** How a watch finds the runs of other servers. */
export interface SessionWatchOptions {
  /** The newest runs of a session, newest first; `undefined` for an unknown session. */
  marks(sessionId: string): Promise<RunMark[] | undefined>;
  /** Subscribes to a session at the other servers. */
  subscribe(sessionId: string): void;
  /** Whether there are other servers now. */
  hasPeers(): boolean;
  /** Whether their notifications arrive. */
  isListening(): boolean;
}

/** Finds the runs of a session that start at other servers, by a subscription and by polling. */
export class SessionWatch {
  /** Resolves when the runs that started earlier are known. */
  readonly ready: Promise<void>;
  readonly #sessionId: string;
  readonly #parts: SessionWatchOptions;
  readonly #onRun: (run: RunStart) => void;
  readonly #onRemoved: () => void;
  /** Runs that were published already, or that started earlier. */
  readonly #known = new Set<string>();
  #existed = false;
  #subscribedAt = -Infinity;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  /** `onRemoved` is called when the session is removed. */
  constructor(sessionId: string, parts: SessionWatchOptions, onRun: (run: RunStart) => void, onRemoved: () => void) {
    this.#sessionId = sessionId;
    this.#parts = parts;
    this.#onRun = onRun;
    this.#onRemoved = onRemoved;
    this.#subscribe();
    this.ready = this.#poll((run) => this.#known.add(run.run_id)).then(() => this.#schedulePoll());
    // A reader that has left does not handle the rejection.
    this.ready.catch(() => undefined);
  }

  /** Publishes a run that starts, here or at another server. Readers get it once. */
  publish(run: RunStart): void {
    if (this.#known.has(run.run_id)) return;
    this.#known.add(run.run_id);
    this.#onRun(run);
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  #subscribe(): void {
    if (performance.now() - this.#subscribedAt < renewalInterval) return;
    this.#subscribedAt = performance.now();
    this.#parts.subscribe(this.#sessionId);
  }

  #schedulePoll(): void {
    if (this.#isClosed) return;
    const again = async (): Promise<void> => {
      if (this.#parts.hasPeers()) {
        this.#subscribe();
        // An unavailable store is polled again.
        await this.#poll((run) => this.publish(run)).catch(() => undefined);
      }
      this.#schedulePoll();
    };
    this.#timer = setTimeout(() => void again(), this.#parts.isListening() ? pollInterval : fastPollInterval).unref();
  }

  /** Reads the runs that have started, in their order. */
  async #poll(found: (run: RunStart) => void): Promise<void> {
    const marks = await this.#parts.marks(this.#sessionId);
    if (this.#isClosed) return;
    if (marks === undefined) {
      if (this.#existed) this.#onRemoved();
      return;
    }
    this.#existed = true;
    const begun = marks.filter(({ status }) => status !== "pending").toReversed();
    for (const { run_id, status, attempt } of begun) found({ run_id, hasBegun: !isOver(status) || attempt > 0 });
  }
}
