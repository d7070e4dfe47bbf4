import { markWorkspace } from "../process/mark-workspace.ts";
import type { HeartbeatResult, MountedWorkspace } from "../storage/cluster.ts";
import type { Run } from "../storage/records.ts";
import { cancelBackground } from "./cancel.ts";
import { advanceClock } from "./events/log.ts";
import { type Dispatch, goesOnElsewhere } from "./dispatch.ts";
import type { RunnerDeps } from "./options.ts";
import { recoverRuns, removeLeftovers, adoptRuns } from "./recover.ts";
import { isOver } from "./status.ts";

/** Milliseconds during which this server takes up runs that it owns without knowing. */
const recheckTime = 60_000;
/** Milliseconds between two checks of whether it owns any. */
const checkInterval = 60_000;
/** Milliseconds during which it leaves orphaned runs to live servers of the code version that they began with. */
const preferenceTime = 60_000;

/** `recoverRuns`, and from then on takes over the runs that other servers leave. */
export async function recoverAndFollow(dispatch: Dispatch, deps: RunnerDeps): Promise<{ resumed: number }> {
  const { cluster } = deps.storage;
  deps.graphs.knownSince(await cluster.announceGraphs(deps.graphs.ids(), await mountedWorkspace(deps)));
  const recovered = await recoverRuns(dispatch, deps);
  const { id, serverCount } = cluster;
  if (serverCount > 1) deps.logger.info({ server: id, servers: serverCount }, "beside_other_servers");
  new OtherServers(dispatch, deps).start();
  return recovered;
}

/** The id of the agent's workspace, where other servers may have mounted the same one or another. */
async function mountedWorkspace({
  storage,
  graphs,
  workspace,
  logger,
}: RunnerDeps): Promise<MountedWorkspace | undefined> {
  if (!storage.notifications.isShared || workspace === undefined) return undefined;
  const using = graphs.ids().filter((id) => graphs.hasLoop(graphs.get(id)));
  const id = using.length === 0 ? undefined : await markWorkspace(workspace, logger);
  return id === undefined ? undefined : { workspace: id, graphs: using };
}

/**
 * Coordinates the runs here with other servers: takes over the runs of expired servers, executes stop requests, starts runs
 * that waited for a run of another server, ends what belongs to sessions that others remove, and abandons all runs when this
 * server has lost its lease.
 */
class OtherServers {
  readonly #dispatch: Dispatch;
  readonly #deps: RunnerDeps;
  #isAcquiring = false;
  /** More runs may have been orphaned since the current query. */
  #acquireAgain = false;
  /** There was no room for all orphaned runs. */
  #hasMore = false;
  /** Until when it takes up runs that it owns without knowing: after a lost answer of the database, and after a lost lease. */
  #recheckUntil = 0;
  #checkedAt = performance.now();
  /** How many servers the last heartbeat found. */
  #servers: number;
  /** Since when every heartbeat has found orphaned runs. */
  #orphanedSince: number | undefined;

  constructor(dispatch: Dispatch, deps: RunnerDeps) {
    this.#dispatch = dispatch;
    this.#deps = deps;
    this.#servers = deps.storage.cluster.serverCount;
  }

  /** Subscribes to the cluster, once this server has recovered its own runs. */
  start(): void {
    const { cluster, notifications } = this.#deps.storage;
    cluster.onLeaseLost(() => this.#abandonAll());
    cluster.onHeartbeat((found) => this.#onHeartbeat(found));
    if (!notifications.isShared) return;
    this.#dispatch.onRoom = () => {
      if (this.#hasMore) void this.#acquireOrphaned(false);
    };
    notifications.onNotification((notification) => {
      if (notification.type === "free") this.#dispatch.wakeBlocked([notification.session_id]);
      if (notification.type === "removed") void this.#forget(notification.session_id);
    });
  }

  /** Ends what goes on here for a session that another server removes. Never throws. */
  async #forget(sessionId: string): Promise<void> {
    try {
      await this.#deps.extension?.forget(sessionId);
    } catch (error) {
      this.#deps.logger.error({ err: error, session_id: sessionId }, "removed_session_not_ended");
    }
  }

  #onHeartbeat({ stops, hasOrphanedRuns }: HeartbeatResult): void {
    if (this.#deps.stopping.aborted) return;
    for (const { run_id, action } of stops) this.#stop(run_id, action === "rollback");
    const now = performance.now();
    this.#orphanedSince = hasOrphanedRuns ? (this.#orphanedSince ?? now) : undefined;
    if (this.#dispatch.isUnsure) this.#recheckHeldRuns();
    this.#dispatch.isUnsure = false;
    const isUnsure = now < this.#recheckUntil;
    if (hasOrphanedRuns || isUnsure) void this.#acquireOrphaned(isUnsure);
    if (!isUnsure && now - this.#checkedAt >= checkInterval) void this.#checkHeldRuns(now);
    const { serverCount, isLeader } = this.#deps.storage.cluster;
    if (serverCount < this.#servers && isLeader) void this.#removeLeftovers();
    this.#servers = serverCount;
    this.#dispatch.wakeBlocked();
  }

  /** Removes what a server has left that had no open run. Never throws. */
  async #removeLeftovers(): Promise<void> {
    try {
      await removeLeftovers(this.#dispatch, this.#deps);
    } catch (error) {
      this.#deps.logger.error({ err: error }, "leftovers_not_removed");
    }
  }

  /** Executes a stop request that came through another server. */
  #stop(runId: string, isRollback: boolean): void {
    const active = this.#dispatch.active.get(runId);
    if (active === undefined || active.ended || active.stop.reason !== undefined) return;
    if (isRollback) active.rollback = true;
    active.stop.request("user_requested");
    const { storage, logger } = this.#deps;
    const sent =
      active.hasBegun && cancelBackground(active.run.session_id, { dispatch: this.#dispatch, storage, logger });
    Promise.all([this.#dispatch.endWaiting(active), sent]).catch((error: unknown) => {
      this.#deps.logger.error({ err: error, run_id: runId }, "stopped_run_not_ended");
    });
  }

  /** Takes over orphaned runs, of as many sessions as there is room for. Never throws. */
  async #acquireOrphaned(again: boolean): Promise<void> {
    const { room } = this.#dispatch;
    this.#acquireAgain = this.#isAcquiring;
    this.#hasMore = room === 0;
    if (this.#isAcquiring || room === 0 || this.#deps.stopping.aborted) return;
    this.#isAcquiring = true;
    try {
      const { events } = this.#deps.storage;
      const acquired = await this.#acquire(room, again);
      this.#hasMore = new Set(acquired.map(({ session_id }) => session_id)).size >= room;
      if (acquired.length === 0) return;
      for (const { run_id, status } of acquired) {
        if (status !== "running") continue;
        const [event] = await events.read(run_id, (await events.last(run_id)) - 1, 1);
        if (event?.at !== undefined) advanceClock(event.at);
      }
      await removeLeftovers(this.#dispatch, this.#deps);
      const taken = await this.#stillOpen(acquired);
      if (taken.length === 0) return;
      const { resumed } = adoptRuns(taken, this.#dispatch, this.#deps);
      this.#deps.logger.info({ taken: taken.length, resumed }, "runs_taken_over");
    } catch (error) {
      this.#recheckHeldRuns();
      this.#deps.logger.error({ err: error }, "runs_not_taken_over");
    } finally {
      this.#isAcquiring = false;
      if (this.#acquireAgain) void this.#acquireOrphaned(again);
    }
  }

  /** Takes runs, and returns those that this server does not know yet. */
  async #acquire(room: number, again: boolean): Promise<Run[]> {
    const { active } = this.#dispatch;
    const anyVersion = performance.now() - (this.#orphanedSince ?? Infinity) >= preferenceTime;
    const sessions = again ? room + active.size : room;
    const acquired = await this.#deps.storage.runs.acquire({ sessions, again, anyVersion });
    return acquired.filter(({ run_id }) => !active.has(run_id));
  }

  /** Which of these runs are open, and not in hand: meanwhile their sessions may have begun them, and ended them as well. */
  async #stillOpen(acquired: readonly Run[]): Promise<Run[]> {
    const { active } = this.#dispatch;
    const found = await Promise.all(acquired.map(({ run_id }) => this.#deps.storage.runs.get(run_id)));
    return found.flatMap((run) => (run === undefined || isOver(run.status) || active.has(run.run_id) ? [] : run));
  }

  /** Looks whether this server owns runs without knowing, whatever it has lost them by. Never throws. */
  async #checkHeldRuns(now: number): Promise<void> {
    this.#checkedAt = now;
    const { active } = this.#dispatch;
    // What ends while the answer is on its way was known before, what begins then is known afterwards.
    const before = new Set(active.keys());
    try {
      const held = await this.#deps.storage.runs.held();
      if (held.some((runId) => !before.has(runId) && !active.has(runId))) this.#recheckHeldRuns();
    } catch (error) {
      this.#deps.logger.warn({ err: error }, "held_runs_not_checked");
    }
  }

  #recheckHeldRuns(): void {
    this.#recheckUntil = performance.now() + recheckTime;
  }

  /** Other servers continue the runs of this one. */
  #abandonAll(): void {
    this.#recheckHeldRuns();
    const reason = goesOnElsewhere();
    this.#deps.logger.error({}, "server_lost");
    for (const active of this.#dispatch.active.values()) {
      if (active.isExecuting) active.stop.request("app_shutdown", reason);
      else this.#dispatch.abandon(active, reason);
    }
  }
}
