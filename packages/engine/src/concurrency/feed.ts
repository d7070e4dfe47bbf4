/** Passes events on to all current subscribers; later subscribers do not get the former events. */
export class Feed<Event> {
  readonly #followers = new Set<(event: Event) => void>();

  tell(event: Event): void {
    for (const follower of this.#followers) follower(event);
  }

  /** What `first` gives, then every event from then on, in batches as they are ready, until the signal aborts. */
  async *follow(first: () => Promise<Event[]>, signal: AbortSignal): AsyncGenerator<Event[]> {
    let events: Event[] = [];
    let waiting = Promise.withResolvers<void>();
    const tell = (event: Event): void => {
      events.push(event);
      waiting.resolve();
    };
    const end = (): void => waiting.resolve();
    this.#followers.add(tell);
    signal.addEventListener("abort", end);
    try {
      const begun = await first();
      // What was told meanwhile is in what was found.
      events = [];
      yield begun;
      while (!signal.aborted) {
        if (events.length === 0) await waiting.promise;
        waiting = Promise.withResolvers();
        const told = events;
        events = [];
        if (told.length > 0 && !signal.aborted) yield told;
      }
    } finally {
      this.#followers.delete(tell);
      signal.removeEventListener("abort", end);
    }
  }
}

/**
 * Wakes those who follow what is current in a namespace. It says only that something may have changed, so that whoever
 * is woken looks at what is written, and never hears of a state that is not there yet.
 */
export class CurrentChanges {
  readonly #followers = new Set<() => void>();

  /** The number of current subscribers; for tests. */
  get followers(): number {
    return this.#followers.size;
  }

  /** Something was written. */
  tell(): void {
    for (const wake of this.#followers) wake();
  }

  /** What `read` gives, now and whenever it is something else, until the signal is aborted. `same` compares two of them. */
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
      let told: { value: Value } | undefined;
      while (!signal.aborted) {
        // Before the look: what is written during it wakes again.
        waiting = Promise.withResolvers();
        const value = await read();
        if (told === undefined || !same(told.value, value)) yield value;
        told = { value };
        if (!signal.aborted) await waiting.promise;
      }
    } finally {
      this.#followers.delete(wake);
      signal.removeEventListener("abort", wake);
    }
  }
}
