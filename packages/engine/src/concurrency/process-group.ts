import { hasCode } from "../errors/errors.ts";

/** Groups that live; they must not outlive us when we leave without closing. */
const living = new Set<number>();

/** Notes a group that was started, so that it ends with this process. Named by its leader. */
export function keepGroup(leader: number): void {
  if (living.size === 0) process.on("exit", endAll);
  living.add(leader);
}

/** Ends a whole group by force, and forgets it. */
export function endGroup(leader: number): void {
  signalGroup(leader, "SIGKILL");
  living.delete(leader);
  if (living.size === 0) process.off("exit", endAll);
}

/** Sends a signal to every process of a group; that there is none (any more) is fine. */
export function signalGroup(leader: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-leader, signal);
  } catch (error) {
    if (!hasCode(error, "ESRCH")) throw error;
  }
}

function endAll(): void {
  for (const leader of living) signalGroup(leader, "SIGKILL");
}
