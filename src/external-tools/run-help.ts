import { spawn, type ChildProcess } from "node:child_process";
import { dirname } from "node:path";
import { environmentVariable } from "@millrace/engine/config/config";
import { endGroup, keepGroup } from "@millrace/engine/concurrency/process-group";
import { longestHelp } from "./comment-help.ts";

/** What programs are asked for their help with, one after the other. */
const requests = ["help", "-h", "--help"];

/** How long a program may take for each. */
const helpMilliseconds = 5000;

/**
 * The help that a program gives when it is asked; `null` when it gives none in time. It runs in its own folder without
 * input and with nothing of our environment but the search path; when it has answered, or its time is up, its whole
 * process group is ended. Never throws.
 */
export async function runHelp(
  file: string,
  signal: AbortSignal,
  milliseconds = helpMilliseconds,
): Promise<string | null> {
  for (const request of requests) {
    if (signal.aborted) return null;
    const said = await runOnce(file, request, AbortSignal.any([signal, AbortSignal.timeout(milliseconds)]));
    if (said !== null) return said;
  }
  return null;
}

async function runOnce(file: string, request: string, signal: AbortSignal): Promise<string | null> {
  const child = start(file, request);
  if (child === null) return null;
  const { promise, resolve } = Promise.withResolvers<number | null>();
  const out = gather(child.stdout);
  const err = gather(child.stderr);
  const leader = child.pid;
  if (leader !== undefined) keepGroup(leader);
  const giveUp = (): void => resolve(null);
  signal.addEventListener("abort", giveUp, { once: true });
  if (signal.aborted) giveUp();
  child.once("error", giveUp);
  // What it has started must not hold its output open.
  child.once("exit", () => leader !== undefined && endGroup(leader));
  child.once("close", resolve);
  try {
    const code = await promise;
    const said = out().trim() === "" ? err().trim() : out().trim();
    return code === 0 && said !== "" ? said.slice(0, longestHelp).toWellFormed() : null;
  } finally {
    signal.removeEventListener("abort", giveUp);
    if (leader !== undefined) endGroup(leader);
    child.stdout?.destroy();
    child.stderr?.destroy();
  }
}

/** Some reasons not to start, such as a program that is being written just now, are thrown instead of told. */
function start(file: string, request: string): ChildProcess | null {
  try {
    return spawn(file, [request], {
      cwd: dirname(file),
      env: { PATH: environmentVariable("PATH") ?? "/usr/local/bin:/usr/bin:/bin", LANG: "C.UTF-8" },
      stdio: ["ignore", "pipe", "pipe"],
      detached: true,
    });
  } catch {
    return null;
  }
}

/** Keeps the beginning of what comes; the rest is read and thrown away, so that the program is not held up. */
function gather(stream: ChildProcess["stdout"]): () => string {
  const chunks: Buffer[] = [];
  let bytes = 0;
  stream?.on("data", (chunk: Buffer) => {
    if (bytes < longestHelp * 4) chunks.push(chunk);
    bytes += chunk.length;
  });
  return () => Buffer.concat(chunks).toString("utf8");
}
