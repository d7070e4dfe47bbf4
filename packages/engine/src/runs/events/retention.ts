import { setImmediate as nextTurn } from "node:timers/promises";
import { clusterTime } from "../../concurrency/cluster-time.ts";
import type { Logger } from "../../logger.ts";
import type { McpStore } from "../../storage/cluster.ts";
import type { EventStore, Storage } from "../../storage/storage.ts";

const hour = 3_600_000;

/** What keeps the logs of runs, and of MCP sessions, bounded, and the space that deleted rows have left. */
interface Retention {
  /**
   * Removes the events of every run that has been over for long enough, and then begins to rebuild sparse indexes. Never throws: a
   * failure is logged, the next hour tries again.
   */
  sweep(): Promise<void>;
  /** No more sweeps; resolves when the one under way has ended. */
  stop(): Promise<void>;
}

/**
 * Sweeps now and then every hour, in small parts with other work between them. The timer keeps no process alive.
 * `hours` is how long a run's events stay after its end. `leads`: whether this server does it for all of them.
 */
export function startRetention(options: {
  events: EventStore;
  mcp?: Pick<McpStore, "expire"> | undefined;
  rebuildIndexes?: Storage["rebuildIndexes"] | undefined;
  hours: number;
  logger: Logger;
  leads?: () => boolean;
}): Retention {
  const { events, mcp, rebuildIndexes, hours, logger, leads = () => true } = options;
  const stopped = new AbortController();
  const goesOn = (): boolean => !stopped.signal.aborted && leads();
  let sweeping: Promise<void> | undefined;
  let rebuilding: Promise<void> | undefined;

  async function expireAll(): Promise<void> {
    const before = new Date(clusterTime() - hours * hour).toISOString();
    try {
      while (goesOn() && (await events.expire(before))) await nextTurn();
      while (goesOn() && (await mcp?.expire()) === true) await nextTurn();
    } catch (error) {
      logger.error({ err: error }, "events_not_expired");
    }
  }
  async function rebuildAll(): Promise<void> {
    try {
      const indexes = goesOn() ? await rebuildIndexes?.(stopped.signal) : undefined;
      if (indexes !== undefined && indexes.length > 0) logger.info({ indexes }, "indexes_rebuilt");
    } catch (error) {
      logger.error({ err: error }, "indexes_not_rebuilt");
    }
  }
  const sweep = (): Promise<void> =>
    (sweeping ??= expireAll().finally(() => {
      sweeping = undefined;
      // It may take long: the next sweep does not wait for it.
      rebuilding ??= rebuildAll().finally(() => {
        rebuilding = undefined;
      });
    }));

  const timer = setInterval(() => void sweep(), hour).unref();
  void sweep();
  return {
    sweep,
    async stop() {
      stopped.abort();
      clearInterval(timer);
      await sweeping;
      await rebuilding;
    },
  };
}
