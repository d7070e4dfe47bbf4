import type { SessionNews } from "../../run-events.ts";

/** What comes next for a reader: a run that begins, or ends without having begun; or something that no run has told. */
export type Coming = { run_id: string; hasBegun: boolean } | { news: SessionNews };

/** One reader's list of what has come of a session and that it has not taken yet. */
interface Feed {
  waiting: Coming[];
  wake: (() => void) | undefined;
  closed: boolean;
}

/** What one reader waits for. Whoever opened it closes it, also when it has read nothing: its list would grow for ever. */
export interface ComingRuns {
  items: AsyncGenerator<Coming, void, undefined>;
  /** Takes out the runs that have ended without having begun: they do not wait for the one that works. */
  takeStopped(): string[];
  close(): void;
}

/** Tells whoever follows a session which of its runs begins next, and what happens beside them. It keeps that only while somebody follows. */
export class SessionFeeds {
  readonly #feeds = new Map<string, Set<Feed>>();

  /** Readers that follow a session now; for tests. */
  get readers(): number {
    return [...this.#feeds.values()].reduce((sum, { size }) => sum + size, 0);
  }

  /** A run of the session begins, or is about to end without having begun. */
  begun(sessionId: string, runId: string, hasBegun = true): void {
    this.#add(sessionId, { run_id: runId, hasBegun });
  }

  /** Something has happened to the session that no run tells: a reader hears of it after the run that it is at. */
  tell(sessionId: string, news: SessionNews): void {
    this.#add(sessionId, { news });
  }

  #add(sessionId: string, item: Coming): void {
    for (const feed of this.#feeds.get(sessionId) ?? []) {
      feed.waiting.push(item);
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

  /** The runs that begin from this call on, each when it begins, and the news, until the signal is aborted or the session goes. */
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
    return { items: read(feed), takeStopped: () => takeStopped(feed), close };
  }
}

function takeStopped(feed: Feed): string[] {
  const stopped = feed.waiting.flatMap((item) => ("run_id" in item && !item.hasBegun ? item.run_id : []));
  if (stopped.length > 0) feed.waiting = feed.waiting.filter((item) => "news" in item || item.hasBegun);
  return stopped;
}

async function* read(feed: Feed): AsyncGenerator<Coming, void, undefined> {
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
