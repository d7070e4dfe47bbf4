import type { Logger } from "../logger.ts";
import { Alarm } from "../runs/events/alarm.ts";
import type { Runs } from "../runs/runs.ts";
import type { SessionTtl } from "../storage/session-ttls.ts";
import type { Storage } from "../storage/storage.ts";
import { pruningSaver } from "./state/prune.ts";

const minute = 60_000;
/** A session whose states were pruned is pruned again at the earliest after this many milliseconds. */
const pruneAgain = 60 * minute;

/** What removes sessions and items whose time is over. */
export interface Expiry {
  /** Removes nothing more; resolves when what is under way has ended. */
  stop(): Promise<void>;
}

interface ExpiryParts {
  storage: Pick<Storage, "items" | "ttls" | "sessions" | "checkpointer">;
  runs: Pick<Runs, "between" | "cancelSession">;
  logger: Logger;
}

/** The earliest of some dates, in milliseconds. */
function earliest(dates: readonly (string | undefined)[]): number | undefined {
  const times = dates.flatMap((date) => (date === undefined ? [] : [Date.parse(date)]));
  return times.length === 0 ? undefined : Math.min(...times);
}

/**
 * Removes items, and deletes or prunes sessions, when their time is over: by one timer to the next of them. A session
 * that is at work or was touched meanwhile stays. A failure is logged and tried again after a minute.
 */
export function startExpiry({ storage, runs, logger }: ExpiryParts): Expiry {
  const { items, ttls } = storage;
  const saver = pruningSaver(storage.checkpointer);

  /** Ends the time of a session, unless it was touched since somebody looked. */
  async function end({ session_id: id }: SessionTtl): Promise<void> {
    await runs.between(id, async () => {
      const ttl = await ttls.get(id);
      if (ttl === undefined || Date.parse(ttl.expires_at) > Date.now()) return;
      if (ttl.strategy === "delete") {
        await runs.cancelSession(id);
        await storage.sessions.delete(id);
        return;
      }
      await saver?.prune(id, { keepLatest: 1 });
      await ttls.moveOn(id, new Date(Date.now() + Math.max(ttl.minutes * minute, pruneAgain)).toISOString());
    });
  }

  async function endDue(): Promise<boolean> {
    let isDone = true;
    const due = await ttls.due();
    for (const ttl of due) {
      try {
        await end(ttl);
      } catch (error) {
        isDone = false;
        logger.error({ err: error, session_id: ttl.session_id }, "session_not_expired");
      }
    }
    if (due.length > 0) await saver?.vacuum();
    return isDone;
  }

  const alarm = new Alarm(async () => {
    try {
      const next = await items.expire();
      if (!(await endDue())) return Date.now() + minute;
      return earliest([next, await ttls.next()]);
    } catch (error) {
      logger.error({ err: error }, "nothing_expired");
      return Date.now() + minute;
    }
  });
  for (const store of [items, ttls]) store.onExpiry((time) => alarm.bring(Date.parse(time)));
  alarm.bring(Date.now());
  return alarm;
}
