import type { Config } from "../config/config.ts";
import type { Logger } from "../logger.ts";
import { startRetention } from "../runs/retention.ts";
import type { Runs } from "../runs/runs.ts";
import { startApprovalSweep } from "../sessions/questions/approval-sweep.ts";
import { startExpiry } from "../sessions/expiry.ts";
import type { Storage } from "../storage/storage.ts";
import { startCronClock } from "./cron-clock.ts";
import type { CronRunParts } from "./start-cron-run.ts";

/** What happens because it is time for it. */
export interface Clockwork {
  /** Nothing more happens; resolves when what is under way has ended. */
  stop(): Promise<void>;
}

/** Starts all of it: runs of crons, the ends of old logs, of unanswered questions, and of sessions and items with a time. */
export function startClockwork(parts: {
  config: Pick<Config, "eventRetentionHours" | "approvalTimeoutHours">;
  storage: Storage;
  runs: Runs;
  toRequest: CronRunParts["toRequest"];
  logger: Logger;
}): Clockwork {
  const { config, storage, runs, toRequest, logger } = parts;
  const clocks = [
    startRetention({ events: storage.events, hours: config.eventRetentionHours, logger }),
    startApprovalSweep({ storage, runs, timeoutHours: config.approvalTimeoutHours }, logger),
    startExpiry({ storage, runs, logger }),
    startCronClock({ storage, runs, toRequest, logger }),
  ];
  return {
    stop: async () => {
      await Promise.all(clocks.map((clock) => clock.stop()));
    },
  };
}
