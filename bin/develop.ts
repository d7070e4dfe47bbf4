import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { dirname, join, relative } from "node:path";
import { addVariables } from "../src/config.ts";
import { watchFolder } from "./watch-folder.ts";

/** Milliseconds in which several changes are one: editors write a file more than once. */
const pause = 100;

/**
 * Serves a manifest's folder in a process of its own, and starts that again when a file has changed: runs are parked, and
 * go on in the new process. Ends with the signal that ends this process.
 */
export async function develop(manifest: string): Promise<void> {
  const folder = dirname(manifest);
  // A file is saved often, and whoever waits for it is a person. The page that they try it with is served on this machine.
  addVariables({ MILLRACE_DRAIN_SECONDS: "1", MILLRACE_LOCAL_PAGES: "1" });
  const ending = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => ending.abort());
  let child: ChildProcess | undefined;
  let isWanted = true;
  const serve = (): void => {
    // With what was compiled at the last start.
    const command = join(import.meta.dirname, "millrace.cjs");
    isWanted = true;
    child = spawn(process.execPath, [...process.execArgv, command, "start", "--config", manifest], {
      stdio: "inherit",
    });
    child.once("error", (error) => process.stderr.write(`The server could not be started: ${error.message}\n`));
    child.once("exit", () => {
      if (isWanted && !ending.signal.aborted) process.stdout.write("The server has ended; a change starts it again\n");
    });
  };
  const end = async (): Promise<void> => {
    if (child?.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    isWanted = false;
    child.kill("SIGTERM");
    await ended;
  };
  serve();
  try {
    for await (const path of watchFolder(folder, { pause, signal: ending.signal })) {
      process.stdout.write(`${relative(folder, path)} has changed; starting again\n`);
      await end();
      if (!ending.signal.aborted) serve();
    }
  } finally {
    await end();
  }
}
