import type { SessionNotification } from "../../run-events.ts";
import type { RunStart } from "./session-watch.ts";

/** What comes next for a reader: a run that begins, or ends without having begun; or news from outside of runs. */
export type SessionItem = RunStart | { news: SessionNotification };

/** One reader's list of what has come of a session and that it has not taken yet. */
export interface Feed {
  waiting: SessionItem[];
  wake: (() => void) | undefined;
  closed: boolean;
}

/** One reader's subscription. The caller closes it, also when it has read nothing, since its list would grow for ever. */
export interface SessionSubscription {
  items: AsyncGenerator<SessionItem, void, undefined>;
  /** Whether something has come that was not taken yet. */
  hasMore(): boolean;
  /** Takes out the runs that have ended without having begun: they need not wait for the current run. */
  takeStopped(): string[];
  /** Resolves when what begins from now on is not missed, wherever it does. */
  ready: Promise<void>;
  close(): void;
}

/** A reader's subscription to its list. */
export function comingRuns(feed: Feed, ready: Promise<void>, close: () => void): SessionSubscription {
  const hasMore = (): boolean => feed.waiting.length > 0;
  return { items: read(feed), hasMore, takeStopped: () => takeStopped(feed), ready, close };
}

function takeStopped(feed: Feed): string[] {
  const stopped = feed.waiting.flatMap((item) => ("run_id" in item && !item.hasBegun ? item.run_id : []));
  if (stopped.length > 0) feed.waiting = feed.waiting.filter((item) => "news" in item || item.hasBegun);
  return stopped;
}

async function* read(feed: Feed): AsyncGenerator<SessionItem, void, undefined> {
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
