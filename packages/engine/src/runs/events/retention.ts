import { setImmediate as nextTurn } from "node:timers/promises";
import { clusterTime } from "../../concurrency/cluster-time.ts";
import type { Logger } from "../../logger.ts";
import type { McpStore } from "../../storage/cluster.ts";
import type { EventStore } from "../../storage/storage.ts";

const hour = 3_600_000;

/** What keeps the logs of runs, and of MCP sessions, bounded. */
interface Retention {
  /** Removes the events of every run that has been over for long enough. Never throws: a failure is logged, the next hour tries again. */
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
  hours: number;
  logger: Logger;
  leads?: () => boolean;
}): Retention {
  const { events, mcp, hours, logger, leads = () => true } = options;
  let stopped = false;
  let sweeping: Promise<void> | undefined;

  async function expireAll(): Promise<void> {
    const before = new Date(clusterTime() - hours * hour).toISOString();
    try {
      while (!stopped && leads() && (await events.expire(before))) await nextTurn();
      while (!stopped && leads() && (await mcp?.expire()) === true) await nextTurn();
    } catch (error) {
      logger.error({ err: error }, "events_not_expired");
    }
  }
  const sweep = (): Promise<void> =>
    (sweeping ??= expireAll().finally(() => {
      sweeping = undefined;
    }));

  const timer = setInterval(() => void sweep(), hour).unref();
  void sweep();
  return {
    sweep,
    async stop() {
      stopped = true;
      clearInterval(timer);
      await sweeping;
    },
  };
}
