import { AppError } from "../errors/errors.ts";
import { markWorkspace } from "../process/mark-workspace.ts";
import type { HeartbeatResult, MountedWorkspace } from "../storage/cluster.ts";
import type { Run } from "../storage/records.ts";
import { cancelSent } from "./cancel.ts";
import { goOnFrom } from "./events/log.ts";
import type { Dispatch } from "./dispatch.ts";
import type { RunnerDeps } from "./options.ts";
import { recoverRuns, removeLeftovers, takeUp } from "./recover.ts";
import { isOver } from "./status.ts";

/** Milliseconds that a run may go on here which has been in no server's hand meanwhile. */
const recheckTime = 60_000;

/** `recoverRuns`, and from then on the same for what other servers leave. */
export async function recoverAndFollow(dispatch: Dispatch, deps: RunnerDeps): Promise<{ resumed: number }> {
  const { cluster } = deps.storage;
  deps.graphs.knownSince(await cluster.announceGraphs(deps.graphs.ids(), await mountedWorkspace(deps)));
  const recovered = await recoverRuns(dispatch, deps);
  const { id, serverCount } = cluster;
  if (serverCount > 1) deps.logger.info({ server: id, servers: serverCount }, "beside_other_servers");
  new OtherServers(dispatch, deps).start();
  return recovered;
}

/** The folder of the agent's tools, by an id in it, where other servers can have the same one or another. */
async function mountedWorkspace({
  storage,
  graphs,
  workspace,
  logger,
}: RunnerDeps): Promise<MountedWorkspace | undefined> {
  if (!storage.hints.isShared || workspace === undefined) return undefined;
  const using = graphs.ids().filter((id) => graphs.hasLoop(graphs.get(id)));
  const id = using.length === 0 ? undefined : await markWorkspace(workspace, logger);
  return id === undefined ? undefined : { workspace: id, graphs: using };
}

/**
 * What other servers have to do with the runs here: takes up what a server has left that is gone, stops what one was asked
 * to stop, begins what has waited for a run of one, and lets go of everything when others take this server for gone.
 */
class OtherServers {
  readonly #dispatch: Dispatch;
  readonly #deps: RunnerDeps;
  #taking = false;
  /** Others have left more since what is being taken was looked for. */
  #takeAgain = false;
  /** There was no room for all that is left over. */
  #hasMore = false;
  /** Until when it looks for runs that may be in its hand without its knowing: after a lost answer, and after it was lost. */
  #recheckUntil = 0;

  constructor(dispatch: Dispatch, deps: RunnerDeps) {
    this.#dispatch = dispatch;
    this.#deps = deps;
  }

  /** Begins to follow them, once this server has taken up what it found at its start. */
  start(): void {
    const { cluster, hints } = this.#deps.storage;
    cluster.onLeaseLost(() => this.#abandonAll());
    cluster.onHeartbeat((found) => this.#onHeartbeat(found));
    if (!hints.isShared) return;
    this.#dispatch.onRoom = () => {
      if (this.#hasMore) void this.#take(false);
    };
    hints.onHint((hint) => {
      if (hint.type === "free") this.#dispatch.wakeBlocked([hint.session_id]);
    });
  }

  #onHeartbeat({ stops, hasOrphanedRuns }: HeartbeatResult): void {
    if (this.#deps.stopping.aborted) return;
    for (const { run_id, action } of stops) this.#stop(run_id, action === "rollback");
    const isUnsure = performance.now() < this.#recheckUntil;
    if (hasOrphanedRuns || isUnsure) void this.#take(isUnsure);
    this.#dispatch.wakeBlocked();
  }

  /** Stops a run that was asked to by way of another server. */
  #stop(runId: string, isRollback: boolean): void {
    const active = this.#dispatch.active.get(runId);
    if (active === undefined || active.ended || active.stop.reason !== undefined) return;
    if (isRollback) active.rollback = true;
    active.stop.request("user_requested");
    const { storage, logger } = this.#deps;
    const sent = active.hasBegun && cancelSent(active.run.session_id, { dispatch: this.#dispatch, storage, logger });
    Promise.all([this.#dispatch.endWaiting(active), sent]).catch((error: unknown) => {
      this.#deps.logger.error({ err: error, run_id: runId }, "stopped_run_not_ended");
    });
  }

  /** Takes up the runs of servers that are gone, of as many sessions as there is room for. Never throws. */
  async #take(again: boolean): Promise<void> {
    const { room } = this.#dispatch;
    this.#takeAgain = this.#taking;
    this.#hasMore = room === 0;
    if (this.#taking || room === 0 || this.#deps.stopping.aborted) return;
    this.#taking = true;
    try {
      const { events } = this.#deps.storage;
      const taken = await this.#takeUntracked(room, again);
      this.#hasMore = new Set(taken.map(({ session_id }) => session_id)).size >= room;
      if (taken.length === 0) return;
      for (const { run_id, status } of taken) {
        if (status !== "running") continue;
        const [event] = await events.read(run_id, (await events.last(run_id)) - 1, 1);
        if (event?.at !== undefined) goOnFrom(event.at);
      }
      await removeLeftovers(this.#dispatch, this.#deps);
      const { resumed } = takeUp(taken, this.#dispatch, this.#deps);
      this.#deps.logger.info({ taken: taken.length, resumed }, "runs_taken_over");
    } catch (error) {
      this.#recheckHeldRuns();
      this.#deps.logger.error({ err: error }, "runs_not_taken_over");
    } finally {
      this.#taking = false;
      if (this.#takeAgain) void this.#take(again);
    }
  }

  /** What was taken, without what is in hand and known. */
  async #takeUntracked(room: number, again: boolean): Promise<Run[]> {
    const { runs } = this.#deps.storage;
    const { active } = this.#dispatch;
    const taken = (await runs.take(again ? room + active.size : room, again)).filter(
      ({ run_id }) => !active.has(run_id),
    );
    if (!again) return taken;
    // One that has just ended here looks the same, until it is read once more.
    const found = await Promise.all(taken.map(({ run_id }) => runs.get(run_id)));
    return found.flatMap((run) => (run === undefined || isOver(run.status) || active.has(run.run_id) ? [] : run));
  }

  #recheckHeldRuns(): void {
    this.#recheckUntil = performance.now() + recheckTime;
  }

  /** Others go on with what is in hand here. */
  #abandonAll(): void {
    this.#recheckHeldRuns();
    const reason = new AppError("server", "Another server goes on with the run.", { recoverable: true });
    this.#deps.logger.error({}, "server_lost");
    for (const active of this.#dispatch.active.values()) {
      if (active.walking) active.stop.request("app_shutdown", reason);
      else this.#dispatch.letGo(active, reason);
    }
  }
}
