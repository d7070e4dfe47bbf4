import type { LogSubscriptions } from "../../events/follow-events.ts";
import type { PostgresNotifications } from "./notifications.ts";

/** Milliseconds between two renewals of a subscription; the writer drops a subscriber that does not renew. */
const renewalInterval = 5_000;
/** Milliseconds between two polls: without notifications, before the writer has answered, and after. */
const pollIntervals = { silent: 100, unanswered: 250, answered: 1_000 };

interface LogSubscription {
  moved: () => void;
  /** When the writer last sent a notification, by the monotonic clock. */
  notifiedAt: number;
}

/** Subscriptions to logs that another server may write. Polling goes on beside them, at a lower rate. */
export function createLogSubscriptions(notifications: PostgresNotifications): LogSubscriptions {
  const followed = new Map<string, LogSubscription>();
  const ask = (run_id: string): void => void notifications.send("all", { type: "follow", run_id });
  notifications.onNotification((notification) => {
    if (notification.type !== "moved") return;
    const log = followed.get(notification.run_id);
    if (log === undefined) return;
    log.notifiedAt = performance.now();
    log.moved();
  });
  notifications.onRestored(() => {
    for (const [runId, { moved }] of followed) {
      ask(runId);
      moved();
    }
  });
  return {
    follow(runId, moved) {
      const log: LogSubscription = { moved, notifiedAt: -Infinity };
      followed.set(runId, log);
      ask(runId);
      const timer = setInterval(() => ask(runId), renewalInterval).unref();
      return {
        get pollInterval() {
          if (!notifications.isListening || !notifications.hasPeers) return pollIntervals.silent;
          return performance.now() - log.notifiedAt < 2 * renewalInterval
            ? pollIntervals.answered
            : pollIntervals.unanswered;
        },
        close() {
          clearInterval(timer);
          if (followed.get(runId) === log) followed.delete(runId);
        },
      };
    },
  };
}
