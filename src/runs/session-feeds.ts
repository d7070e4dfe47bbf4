/** One reader's list of the runs of a session that have begun and that it has not taken yet. */
interface Feed {
  waiting: string[];
  wake: (() => void) | undefined;
  closed: boolean;
}

/** What one reader waits for. Whoever opened it closes it, also when it has read nothing: its list would grow for ever. */
export interface ComingRuns {
  ids: AsyncGenerator<string, void, undefined>;
  close(): void;
}

/** Tells whoever follows a session which of its runs begins next. It keeps ids only, and only while somebody follows. */
export class SessionFeeds {
  readonly #feeds = new Map<string, Set<Feed>>();

  /** Readers that follow a session now; for tests. */
  get readers(): number {
    return [...this.#feeds.values()].reduce((sum, { size }) => sum + size, 0);
  }

  /** A run of the session begins, or ends without having begun. */
  begun(sessionId: string, runId: string): void {
    for (const feed of this.#feeds.get(sessionId) ?? []) {
      feed.waiting.push(runId);
      feed.wake?.();
    }
  }

  /** The session is going: its readers end. */
  close(sessionId: string): void {
    for (const feed of this.#feeds.get(sessionId) ?? []) {
      feed.closed = true;
      feed.wake?.();
    }
  }

  /** The ids of the runs that begin from this call on, each when it begins, until the signal is aborted or the session goes. */
  open(sessionId: string, signal: AbortSignal): ComingRuns {
    const feed: Feed = { waiting: [], wake: undefined, closed: false };
    const feeds = this.#feeds.get(sessionId) ?? new Set();
    this.#feeds.set(sessionId, feeds.add(feed));
    const close = (): void => {
      feeds.delete(feed);
      if (feeds.size === 0 && this.#feeds.get(sessionId) === feeds) this.#feeds.delete(sessionId);
      signal.removeEventListener("abort", close);
      feed.closed = true;
      feed.wake?.();
    };
    if (signal.aborted) close();
    else signal.addEventListener("abort", close);
    return { ids: read(feed), close };
  }
}

async function* read(feed: Feed): AsyncGenerator<string, void, undefined> {
  while (!feed.closed) {
    const next = feed.waiting.shift();
    if (next !== undefined) {
      yield next;
      continue;
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    feed.wake = resolve;
    await promise;
  }
}
