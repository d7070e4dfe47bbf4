/** Passes events on to everybody who follows; who comes later hears nothing of the former ones. */
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
