import type { SessionNotification } from "../../run-events.ts";
import type { RunStart } from "./session-watch.ts";

/** What comes next for a reader: a run that begins, or ends without having begun; or news from outside of runs. */
export type SessionUpdate = RunStart | { news: SessionNotification };

/** One reader's list of what has come of a session and that it has not taken yet. */
export interface SubscriberQueue {
  waiting: SessionUpdate[];
  wake: (() => void) | undefined;
  closed: boolean;
}

/** One reader's subscription. The caller closes it, also when it has read nothing, since its list would grow for ever. */
export interface SessionSubscription {
  items: AsyncGenerator<SessionUpdate, void, undefined>;
  /** Whether something has come that was not taken yet. */
  hasMore(): boolean;
  /** Takes out the runs that have ended without having begun: they need not wait for the current run. */
  takeStopped(): string[];
  /** Resolves when what begins from now on is not missed, wherever it does. */
  ready: Promise<void>;
  close(): void;
}

/** A reader's subscription to its list. */
export function createSubscription(
  queue: SubscriberQueue,
  ready: Promise<void>,
  close: () => void,
): SessionSubscription {
  const hasMore = (): boolean => queue.waiting.length > 0;
  return { items: read(queue), hasMore, takeStopped: () => takeStopped(queue), ready, close };
}

function takeStopped(queue: SubscriberQueue): string[] {
  const stopped = queue.waiting.flatMap((item) => ("run_id" in item && !item.hasBegun ? item.run_id : []));
  if (stopped.length > 0) queue.waiting = queue.waiting.filter((item) => "news" in item || item.hasBegun);
  return stopped;
}

async function* read(queue: SubscriberQueue): AsyncGenerator<SessionUpdate, void, undefined> {
  while (!queue.closed) {
    const next = queue.waiting.shift();
    if (next !== undefined) {
      yield next;
      continue;
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    queue.wake = resolve;
    await promise;
  }
}
