import { CurrentChanges } from "../../concurrency/feed.ts";
import { KeyedMutex } from "../../concurrency/by-key.ts";
import type { PeerNotifications } from "../../storage/cluster.ts";

/** Milliseconds between two reads of a followed namespace: with notifications of other servers, and without. */
const [pollInterval, fastPollInterval] = [5_000, 1_000];

/** Locks and signals that the scopes of one server share across callers. */
export interface SharedLocks {
  /** Wakes followers of a namespace's current session, also after a change at another server. */
  changes: CurrentChanges;
  /** Serialises changes of an owner's namespace. */
  namespaces: KeyedMutex;
}

/** The shared locks of a new server. */
export function createSharedLocks(notifications: PeerNotifications): SharedLocks {
  return { changes: createCurrentChanges(notifications), namespaces: new KeyedMutex() };
}

function createCurrentChanges(notifications: PeerNotifications): CurrentChanges {
  if (!notifications.isShared) return new CurrentChanges();
  const changes = new CurrentChanges({
    announce: () => void notifications.send("all", { type: "current" }),
    get pollInterval() {
      return notifications.isListening ? pollInterval : fastPollInterval;
    },
  });
  notifications.onNotification(({ type }) => {
    if (type === "current") changes.wake();
  });
  return changes;
}
