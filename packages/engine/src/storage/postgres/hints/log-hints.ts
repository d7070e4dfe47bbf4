import type { LogHints } from "../../events/follow-events.ts";
import type { PostgresHints } from "./hints.ts";

/** Milliseconds between two requests to be told of a run; who writes it forgets a follower that does not ask again. */
const asking = 5_000;
/** Milliseconds between two looks: where nothing is heard, where its writer has not answered, and where it has. */
const pauses = { silent: 100, unanswered: 250, answered: 1_000 };

interface Followed {
  moved: () => void;
  /** When its writer was heard of, by the monotonic clock. */
  heardAt: number;
}

/** Followers of logs that another server may write: they ask that server to tell, and look as well, but seldom. */
export function createLogHints(hints: PostgresHints): LogHints {
  const followed = new Map<string, Followed>();
  const ask = (run_id: string): void => void hints.hint("all", { type: "follow", run_id });
  hints.onHint((hint) => {
    if (hint.type !== "moved") return;
    const log = followed.get(hint.run_id);
    if (log === undefined) return;
    log.heardAt = performance.now();
    log.moved();
  });
  hints.onRestored(() => {
    for (const [runId, { moved }] of followed) {
      ask(runId);
      moved();
    }
  });
  return {
    follow(runId, moved) {
      const log: Followed = { moved, heardAt: -Infinity };
      followed.set(runId, log);
      ask(runId);
      const timer = setInterval(() => ask(runId), asking).unref();
      return {
        get pause() {
          if (!hints.listens || !hints.hasOthers) return pauses.silent;
          return performance.now() - log.heardAt < 2 * asking ? pauses.answered : pauses.unanswered;
        },
        close() {
          clearInterval(timer);
          if (followed.get(runId) === log) followed.delete(runId);
        },
      };
    },
  };
}
