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

/**
 * Notifies followers of a namespace's current session. A notification only means that something may have changed:
 * followers read the stored state, so they never see a state before it is written.
 */
export class CurrentChanges {
  readonly #followers = new Set<() => void>();

  /** The number of current subscribers; for tests. */
  get followers(): number {
    return this.#followers.size;
  }

  /** Notifies followers after a write. */
  notify(): void {
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
        const value = await read();
        if (last === undefined || !same(last.value, value)) yield value;
        last = { value };
        if (!signal.aborted) await waiting.promise;
      }
    } finally {
      this.#followers.delete(wake);
      signal.removeEventListener("abort", wake);
    }
  }
}
