import type { Run } from "../../storage/records.ts";
import type { ActiveRun } from "../active-run.ts";

/**
 * One worker per session and a bound across sessions. `work` does one run of the session and says whether there was
 * one; sessions that wait for a place get it in the order they came. No timers: work begins when `wake` is called.
 */
export class SessionQueue {
  readonly #limit: number;
  readonly #work: (sessionId: string) => Promise<boolean>;
  /** Sessions that work now; true when they were woken meanwhile. */
  readonly #working = new Map<string, boolean>();
  /** Sessions that wait for a place, oldest first. */
  readonly #ready = new Set<string>();
  #closed = false;
  #idle: (() => void)[] = [];

  /** `work` must not reject. */
  constructor(limit: number, work: (sessionId: string) => Promise<boolean>) {
    this.#limit = limit;
    this.#work = work;
  }

  /** There may be something to do for the session. */
  wake(sessionId: string): void {
    if (this.#closed) return;
    if (this.#working.has(sessionId)) {
      this.#working.set(sessionId, true);
      return;
    }
    this.#ready.add(sessionId);
    this.#fill();
  }

  #fill(): void {
    for (const sessionId of this.#ready) {
      if (this.#closed || this.#working.size >= this.#limit) return;
      this.#ready.delete(sessionId);
      void this.#turn(sessionId);
    }
  }

  async #turn(sessionId: string): Promise<void> {
    this.#working.set(sessionId, false);
    const worked = await this.#work(sessionId);
    const woken = this.#working.get(sessionId) === true;
    this.#working.delete(sessionId);
    // Behind the others: a long queue of one session does not keep the rest waiting.
    if ((worked || woken) && !this.#closed) this.#ready.add(sessionId);
    this.#fill();
    if (this.#working.size === 0) for (const done of this.#idle.splice(0)) done();
  }

  /** Begins nothing more; resolves when what is being worked on has ended. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#ready.clear();
    if (this.#working.size === 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#idle.push(resolve);
    await promise;
  }
}

/** Whether a session works on `first` before `second`: in the order they came; ids are made in that order too. */
function comesBefore(first: Run, second: Run): boolean {
  if (first.created_at !== second.created_at) return first.created_at < second.created_at;
  return first.run_id < second.run_id;
}

/** The runs of the same session that wait behind `run`. */
export function waitingBehind(active: ReadonlyMap<string, ActiveRun>, run: Run): ActiveRun[] {
  return [...active.values()].filter(
    (other) => other.run.session_id === run.session_id && !other.walking && comesBefore(run, other.run),
  );
}

/** How many runs of its session come before one that waits; `undefined` for one that has begun. */
export function positionOf(active: ReadonlyMap<string, ActiveRun>, run: Run): number | undefined {
  const own = active.get(run.run_id);
  if (own === undefined || own.walking || own.ended) return undefined;
  const others = [...active.values()].filter(
    (other) => other.run.session_id === run.session_id && !other.ended && other !== own,
  );
  return others.filter((other) => other.walking || comesBefore(other.run, own.run)).length;
}
