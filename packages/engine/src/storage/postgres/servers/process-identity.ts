import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";

/** The process that runs a server. */
export interface ProcessIdentity {
  host: string;
  process: number;
}

/** This process. `host` includes the boot and the PID namespace, since a process id is unique only within them. */
export function thisProcess(): ProcessIdentity {
  return { host: host(), process: process.pid };
}

function host(): string {
  try {
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    return `${hostname()} ${boot} ${readlinkSync("/proc/self/ns/pid")}`;
  } catch {
    // Only Linux has these files.
    return hostname();
  }
}

/** Whether a server's process has ended. True also for this process, whose live servers the caller knows. */
export function hasProcessEnded(place: ProcessIdentity): boolean {
  if (place.host !== host()) return false;
  if (place.process === process.pid) return true;
  try {
    process.kill(place.process, 0);
    return false;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "ESRCH";
  }
}
