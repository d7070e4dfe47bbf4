import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";

/** Where a server runs. */
export interface PlaceOfProcess {
  host: string;
  process: number;
}

/** This process, on this machine since its last start, and in its container: a process is known by its number only there. */
export function thisProcess(): PlaceOfProcess {
  return { host: host(), process: process.pid };
}

function host(): string {
  try {
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    return `${hostname()} ${boot} ${readlinkSync("/proc/self/ns/pid")}`;
  } catch {
    // Other systems have no such files; the name has to do.
    return hostname();
  }
}

/** Whether a server was a process of this machine that has ended, or one of this process, which knows its own. */
export function hasEnded(place: PlaceOfProcess): boolean {
  if (place.host !== host()) return false;
  if (place.process === process.pid) return true;
  try {
    process.kill(place.process, 0);
    return false;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "ESRCH";
  }
}
