import type { PeerNotifications } from "../../storage/cluster.ts";
import type { Storage } from "../../storage/storage.ts";
import type { LogSubscribers } from "../events/log.ts";
import type { ActiveRun } from "../active-run.ts";
import type { SessionUpdate } from "./session-subscription.ts";
import { SessionPublisher } from "./follow.ts";
import { LiveStates } from "./live-runs.ts";

/** Milliseconds until a subscription expires; subscribers renew it every five seconds. */
const subscriptionTtl = 12_000;

/** The servers that subscribe to runs executed here, and to sessions whose runs may start here. */
class RemoteSubscribers implements LogSubscribers {
  readonly #notifications: PeerNotifications;
  readonly #ofRuns = new Subscriptions();
  readonly #ofSessions = new Subscriptions();

  /** `activeRuns`: the runs that this server executes, or is going to. */
  constructor(notifications: PeerNotifications, activeRuns: ReadonlyMap<string, ActiveRun>) {
    this.#notifications = notifications;
    notifications.onNotification((notification, from) => {
      if (notification.type === "watch") this.#ofSessions.add(notification.session_id, from);
      // The reader of a temporary session is done.
      if (notification.type === "read") activeRuns.get(notification.run_id)?.addReader()();
      if (notification.type !== "follow") return;
      this.#ofRuns.add(notification.run_id, from);
      // The answer at once lets the subscriber poll less often.
      if (activeRuns.has(notification.run_id)) notifications.send(from, { type: "moved", run_id: notification.run_id });
    });
  }

  isFollowed(runId: string): boolean {
    return this.#ofRuns.has(runId);
  }

  notify(run_id: string): void {
    for (const server of this.#ofRuns.of(run_id)) this.#notifications.send(server, { type: "moved", run_id });
  }

  /** Sends an item to the subscribers of a session. */
  publish(session_id: string, item: SessionUpdate): void {
    for (const server of this.#ofSessions.of(session_id)) {
      if ("run_id" in item) {
        const { run_id, hasBegun } = item;
        this.#notifications.send(server, { type: hasBegun ? "begun" : "stopped", session_id, run_id });
      } else if (!this.#notifications.send(server, { type: "news", session_id, news: item.news })) {
        // A long text can be read with the operation.
        this.#notifications.send(server, { type: "news", session_id, news: { ...item.news, content: undefined } });
      }
    }
  }
}

/** How runs that are executed here reach their readers. */
export interface RunPublishers {
  sessions: SessionPublisher;
  /** The subscribers at other servers; absent where there can be no other server. */
  remote: LogSubscribers | undefined;
  /** The live state of runs. */
  live: LiveStates;
}

/** Connects runs to their readers here and at other servers. `activeRuns`: see `RemoteSubscribers`. */
export function createPublishers(
  { notifications, runs }: Pick<Storage, "notifications" | "runs">,
  activeRuns: ReadonlyMap<string, ActiveRun>,
): RunPublishers {
  const live = new LiveStates(notifications, activeRuns);
  if (!notifications.isShared) return { sessions: new SessionPublisher(), remote: undefined, live };
  const remote = new RemoteSubscribers(notifications, activeRuns);
  const sessions = new SessionPublisher({
    publish: (sessionId, item) => remote.publish(sessionId, item),
    watch: {
      marks: (sessionId) => runs.marks(sessionId),
      subscribe: (session_id) => notifications.send("all", { type: "watch", session_id }),
      hasPeers: () => notifications.hasPeers,
      isListening: () => notifications.isListening,
    },
  });
  notifications.onNotification((notification) => {
    if (notification.type === "news") sessions.receive(notification.session_id, { news: notification.news });
    if (notification.type === "begun" || notification.type === "stopped") {
      sessions.receive(notification.session_id, {
        run_id: notification.run_id,
        hasBegun: notification.type === "begun",
      });
    }
  });
  return { sessions, remote, live };
}

/** The servers that subscribe to something, by its id. */
class Subscriptions {
  readonly #until = new Map<string, Map<number, number>>();
  #sweptAt = 0;

  add(id: string, server: number): void {
    this.#sweep();
    const servers = this.#until.get(id) ?? new Map<number, number>();
    this.#until.set(id, servers.set(server, performance.now() + subscriptionTtl));
  }

  has(id: string): boolean {
    return this.#until.has(id) && this.of(id).length > 0;
  }

  of(id: string): number[] {
    const servers = this.#until.get(id);
    if (servers === undefined) return [];
    const now = performance.now();
    return [...servers].flatMap(([server, until]) => (until > now ? [server] : []));
  }

  /** Removes expired subscriptions from time to time. */
  #sweep(): void {
    const now = performance.now();
    if (now - this.#sweptAt < subscriptionTtl) return;
    this.#sweptAt = now;
    for (const [id, servers] of this.#until) {
      for (const [server, until] of servers) if (until <= now) servers.delete(server);
      if (servers.size === 0) this.#until.delete(id);
    }
  }
}
