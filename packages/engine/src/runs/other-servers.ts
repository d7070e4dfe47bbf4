import { AppError } from "../errors/errors.ts";
import type { Found } from "../storage/cluster.ts";
import { goOnFrom } from "./events/log.ts";
import type { Dispatch } from "./dispatch.ts";
import type { RunnerDeps } from "./options.ts";
import { recoverRuns, removeLeftovers, takeUp } from "./recover.ts";

/** `recoverRuns`, and from then on the same for what other servers leave. */
export async function recoverAndFollow(dispatch: Dispatch, deps: RunnerDeps): Promise<{ resumed: number }> {
  const recovered = await recoverRuns(dispatch, deps);
  new OtherServers(dispatch, deps).start();
  return recovered;
}

/**
 * What other servers have to do with the runs here: takes up what a server has left that is gone, stops what one was asked
 * to stop, begins what has waited for a run of one, and lets go of everything when others take this server for gone.
 */
class OtherServers {
  readonly #dispatch: Dispatch;
  readonly #deps: RunnerDeps;
  #taking = false;
  /** The answer to a former try to take runs was lost: it may have taken them. */
  #looksAgain = false;

  constructor(dispatch: Dispatch, deps: RunnerDeps) {
    this.#dispatch = dispatch;
    this.#deps = deps;
  }

  /** Begins to follow them, once this server has taken up what it found at its start. */
  start(): void {
    const { cluster } = this.#deps.storage;
    cluster.onLost(() => this.#letGo());
    cluster.onBeat((found) => this.#heard(found));
  }

  #heard({ stops, hasLeftOver }: Found): void {
    if (this.#deps.stopping.aborted) return;
    for (const { run_id, action } of stops) this.#stop(run_id, action === "rollback");
    if (hasLeftOver || this.#looksAgain) void this.#take();
    this.#dispatch.wakeBlocked();
  }

  /** Stops a run that was asked to by way of another server. */
  #stop(runId: string, isRollback: boolean): void {
    const active = this.#dispatch.active.get(runId);
    if (active === undefined || active.ended || active.stop.reason !== undefined) return;
    if (isRollback) active.rollback = true;
    active.stop.request("user_requested");
    this.#dispatch.endWaiting(active).catch((error: unknown) => {
      this.#deps.logger.error({ err: error, run_id: runId }, "stopped_run_not_ended");
    });
  }

  /** Takes up the runs of servers that are gone, of as many sessions as there is room for. Never throws. */
  async #take(): Promise<void> {
    const { room } = this.#dispatch;
    if (this.#taking || room === 0) return;
    this.#taking = true;
    try {
      const { runs, events } = this.#deps.storage;
      const taken = (await runs.take(room)).filter(({ run_id }) => !this.#dispatch.active.has(run_id));
      this.#looksAgain = false;
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
      this.#looksAgain = true;
      this.#deps.logger.error({ err: error }, "runs_not_taken_over");
    } finally {
      this.#taking = false;
    }
  }

  /** Others go on with what is in hand here. */
  #letGo(): void {
    const reason = new AppError("server", "Another server goes on with the run.", { recoverable: true });
    this.#deps.logger.error({}, "server_lost");
    for (const active of this.#dispatch.active.values()) {
      if (active.walking) active.stop.request("app_shutdown", reason);
      else this.#dispatch.letGo(active, reason);
    }
  }
}
