import type { JsonObject, Run } from "../storage/records.ts";
import type { EventStore } from "../storage/storage.ts";
import type { RunCompanion } from "./companion.ts";
import type { Fence } from "./attempt/fence.ts";
import { RunLog } from "./events/log.ts";
import { Stop } from "./attempt/stop.ts";
import { withUserOf } from "./admission/user-of-run.ts";

/** A run this process has in hand, from its admission (or the start of the server) until it is over. */
export class ActiveRun {
  /** The newest row. */
  run: Run;
  readonly log: RunLog;
  readonly stop = new Stop();
  /** Ends the writes of the attempt that walks. */
  fence: Fence | undefined;
  /** What an agent adds to it; absent where nobody does. */
  companion: RunCompanion | undefined;
  /** The row it ended with; rejects when the server lets go of a run that is not over. */
  readonly over: Promise<Run>;
  /** Its place among all runs admitted since the start; not yet admitted, it comes after all. */
  admission = Number.POSITIVE_INFINITY;
  /** Whether a walk has begun; until then it can be ended where it waits. */
  walking = false;
  /** Set once its end is being written, so that it is written once. */
  ended = false;
  /** The client gave it a key by which it may ask again for what came of it. */
  hasKey = false;
  /** The whole user who asked for it, where its row holds only who that is. */
  user: JsonObject | undefined;
  /** Remove it and its checkpoints when it has ended. */
  rollback = false;
  readonly #settle: (run: Run) => void;
  readonly #abandon: (reason: unknown) => void;
  #readers = 0;
  #onUnread: (() => void) | undefined;
  #wasRead = false;

  constructor(run: Run, events: EventStore) {
    this.run = run;
    this.log = new RunLog(events, run, (error) => this.stop.request("error", error));
    const { promise, resolve, reject } = Promise.withResolvers<Run>();
    this.over = promise;
    this.#settle = resolve;
    this.#abandon = reject;
    // Nobody has to wait for a run.
    promise.catch(() => undefined);
  }

  /** Whether it has begun, here or in a former process. */
  get hasBegun(): boolean {
    return this.walking || this.run.status === "running";
  }

  /** The run as its graph is told of it. */
  get told(): Run {
    return withUserOf(this.run, this.user);
  }

  /** A worker has claimed it: `run` is the row with the attempt that begins. */
  begin(run: Run): void {
    this.run = run;
    this.log.attempt = run.attempt;
    this.walking = true;
    // One that was stopped before a crash is taken up only to be ended.
    if (this.stop.state === "idle") this.stop.move("running");
  }

  /** The run is over and its row says so: readers end. */
  settle(run: Run): void {
    this.run = run;
    this.log.close();
    this.stop.rest();
    this.#settle(run);
  }

  /** The run stays unfinished for the next start of the server: readers end. */
  abandon(reason: unknown): void {
    this.log.close();
    this.stop.rest();
    this.#abandon(reason);
  }

  /** Counts a reader until the returned function is called, once. */
  hold(): () => void {
    this.#readers += 1;
    this.#wasRead = true;
    return () => {
      this.#readers -= 1;
      if (this.#readers === 0) this.#onUnread?.();
    };
  }

  /** Resolves when somebody has read it and nobody does any more, or after `patience` milliseconds without a reader. */
  async unread(patience: number): Promise<void> {
    if (this.#wasRead && this.#readers === 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#onUnread = resolve;
    const timer = this.#wasRead ? undefined : setTimeout(() => this.#readers === 0 && resolve(), patience).unref();
    await promise;
    clearTimeout(timer);
  }
}
