import { hasCode } from "../errors/errors.ts";

/** Live groups; they must not outlive this process if it exits without closing. */
const living = new Set<number>();

/** Registers a started group, named by its leader, to be killed with this process. */
export function keepGroup(leader: number): void {
  if (living.size === 0) process.on("exit", endAll);
  living.add(leader);
}

/** Kills a whole group and unregisters it. */
export function endGroup(leader: number): void {
  signalGroup(leader, "SIGKILL");
  living.delete(leader);
  if (living.size === 0) process.off("exit", endAll);
}

/** Sends a signal to every process of a group; ignores a group that has ended. */
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
