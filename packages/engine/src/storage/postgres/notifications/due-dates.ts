import { clusterDate } from "../../../concurrency/cluster-time.ts";
import type { PeerNotification, PeerNotifications } from "../../cluster.ts";

/**
 * Shares due dates between servers. `listen` subscribes to the dates that are written here; returns how clocks subscribe to
 * all dates. A server that knows an earlier date finds the later ones by itself.
 */
export function shareDueDates(
  notifications: PeerNotifications,
  what: Extract<PeerNotification, { type: "due" }>["what"],
  listen: (listener: (date: string) => void) => void,
): (listener: (date: string) => void) => void {
  const listeners: ((date: string) => void)[] = [];
  let published: string | undefined;
  const publish = (date: string): void => {
    for (const listener of listeners) listener(date);
  };
  listen((date) => {
    publish(date);
    if (published !== undefined && published <= date && published > clusterDate()) return;
    published = date;
    notifications.send("all", { type: "due", what, date });
  });
  notifications.onNotification((notification) => {
    if (notification.type === "due" && notification.what === what) publish(notification.date);
  });
  return (listener) => void listeners.push(listener);
}
