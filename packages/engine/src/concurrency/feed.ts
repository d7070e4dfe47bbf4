/** Passes events to all current subscribers; later subscribers miss earlier events. */
export class Feed<Event> {
  readonly #followers = new Set<(event: Event) => void>();

  publish(event: Event): void {
    for (const follower of this.#followers) follower(event);
  }

  /** Yields what `first` returns, then all later events, in batches, until the signal aborts. */
  async *follow(first: () => Promise<Event[]>, signal: AbortSignal): AsyncGenerator<Event[]> {
    let events: Event[] = [];
    let waiting = Promise.withResolvers<void>();
    const listener = (event: Event): void => {
      events.push(event);
      waiting.resolve();
    };
    const end = (): void => waiting.resolve();
    this.#followers.add(listener);
    signal.addEventListener("abort", end);
    try {
      const initial = await first();
      // Events emitted meanwhile are included in what was read.
      events = [];
      yield initial;
      while (!signal.aborted) {
        if (events.length === 0) await waiting.promise;
        waiting = Promise.withResolvers();
        const batch = events;
        events = [];
        if (batch.length > 0 && !signal.aborted) yield batch;
      }
    } finally {
      this.#followers.delete(listener);
      signal.removeEventListener("abort", end);
    }
  }
}

/** How followers learn of changes at other servers. */
export interface PeerChanges {
  /** Notifies the other servers of a change at this one. */
  announce(): void;
  /** Milliseconds until followers read again without a notification. */
  readonly pollInterval: number;
}

/**
 * Notifies followers of a namespace's current session. A notification only means that something may have changed:
 * followers read the stored state, so they never see a state before it is written.
 */
export class CurrentChanges {
  readonly #followers = new Set<() => void>();
  readonly #peers: PeerChanges | undefined;

  /** `peers`: where there can be other servers. */
  constructor(peers?: PeerChanges) {
    this.#peers = peers;
  }

  /** The number of current subscribers; for tests. */
  get followers(): number {
    return this.#followers.size;
  }

  /** Notifies followers after a write, here and at other servers. */
  notify(): void {
    this.wake();
    this.#peers?.announce();
  }

  /** Notifies local followers of a write, whichever server has made it. */
  wake(): void {
    for (const wake of this.#followers) wake();
  }

  /** Yields what `read` returns, now and whenever it differs, until aborted. `same` compares two results. */
  async *follow<Value>(
    read: () => Promise<Value>,
    same: (left: Value, right: Value) => boolean,
    signal: AbortSignal,
  ): AsyncGenerator<Value> {
    let waiting = Promise.withResolvers<void>();
    const wake = (): void => waiting.resolve();
    this.#followers.add(wake);
    signal.addEventListener("abort", wake);
    try {
      let last: { value: Value } | undefined;
      while (!signal.aborted) {
        // Created before reading, so that a concurrent write notifies again.
        waiting = Promise.withResolvers();
        const value = await this.#read(read, last);
        if (last === undefined || !same(last.value, value)) yield value;
        last = { value };
        const timer = this.#peers && setTimeout(wake, this.#peers.pollInterval).unref();
        if (!signal.aborted) await waiting.promise;
        clearTimeout(timer);
      }
    } finally {
      this.#followers.delete(wake);
      signal.removeEventListener("abort", wake);
    }
  }

  /** With polls, what was read last stands in for a read that fails: the next poll reads again. */
  async #read<Value>(read: () => Promise<Value>, last: { value: Value } | undefined): Promise<Value> {
    try {
      return await read();
    } catch (error) {
      if (last === undefined || this.#peers === undefined) throw error;
      return last.value;
    }
  }
}
