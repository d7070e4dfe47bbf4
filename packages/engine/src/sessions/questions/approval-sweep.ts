import type { Logger } from "../../logger.ts";
import { expireApprovals, type ApprovalServices } from "./approvals.ts";

/** Milliseconds between two looks at what has waited too long. */
const interval = 60_000;

/** What denies questions that nobody answers. */
export interface ApprovalSweep {
  /** Denies everything whose time is over; answers with how many. Never throws: failures are logged. */
  sweep(): Promise<number>;
  /** No more sweeps: the one under way ends after the question that it is at. */
  stop(): Promise<void>;
}

/** Sweeps now and then every minute, where a time-out is set at all. The timer keeps no process alive. */
export function startApprovalSweep(services: ApprovalServices, logger: Logger): ApprovalSweep {
  let sweeping: Promise<number> | undefined;
  const stopping = new AbortController();
  async function expireAll(): Promise<number> {
    try {
      const onFailure: Parameters<typeof expireApprovals>[1] = (error, { session_id, interrupt_id }) => {
        logger.error({ err: error, session_id, interrupt_id }, "approval_not_expired");
      };
      return await expireApprovals(services, onFailure, stopping.signal);
    } catch (error) {
      logger.error({ err: error }, "approvals_not_expired");
      return 0;
    }
  }
  const sweep = (): Promise<number> =>
    (sweeping ??= expireAll().finally(() => {
      sweeping = undefined;
    }));
  if (services.timeoutHours === undefined) return { sweep, stop: async () => undefined };

  const timer = setInterval(() => void sweep(), interval).unref();
  void sweep();
  return {
    sweep,
    async stop() {
      clearInterval(timer);
      stopping.abort();
      await sweeping;
    },
  };
}
