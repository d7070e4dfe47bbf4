import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { dirname, join, relative } from "node:path";
import { addVariables } from "@millrace/engine/config/config";
import { watchFolder } from "./watch-folder.ts";

/** Milliseconds in which several changes are one: editors write a file more than once. */
const pause = 100;
/** What a process is sent when it is to serve, and answers when it does. */
const turn = "serve";

/**
 * Serves a manifest's folder in a process of its own, and has another one take over when a file has changed: runs are parked,
 * and go on in the new process, which has loaded the program before. Ends with the signal that ends this process.
 */
export async function develop(manifest: string): Promise<void> {
  const folder = dirname(manifest);
  // Files are saved often, so a restart has to be quick. Pages served on this machine may call, since a developer tries them there.
  addVariables({ MILLRACE_DRAIN_SECONDS: "1", MILLRACE_LOCAL_PAGES: "1" });
  const ending = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => ending.abort());
  let next: ChildProcess | undefined = startWaiting(manifest);
  let serving: ChildProcess | undefined;
  const prepareNext = (): void => {
    if (!ending.signal.aborted && next?.connected !== true) next = startWaiting(manifest);
  };
  const serve = (): void => {
    const child = next?.connected === true ? next : startWaiting(manifest);
    next = undefined;
    serving = child;
    // Only then: two processes that start at once would wait for each other's share of the machine.
    child.once("message", prepareNext);
    child.once("exit", () => {
      prepareNext();
      if (child !== serving || ending.signal.aborted) return;
      process.stdout.write("The server has ended; a change starts it again\n");
    });
    child.send(turn);
  };
  serve();
  try {
    for await (const path of watchFolder(folder, { pause, signal: ending.signal })) {
      process.stdout.write(`${relative(folder, path)} has changed; starting again\n`);
      const former = serving;
      serving = undefined;
      await end(former);
      if (!ending.signal.aborted) serve();
    }
  } finally {
    await Promise.all([end(serving), end(next)]);
  }
}

/** Starts a process that loads the program, with what was compiled at the last start, and then waits for its turn. */
function startWaiting(manifest: string): ChildProcess {
  const command = join(import.meta.dirname, "millrace.cjs");
  const child = spawn(process.execPath, [...process.execArgv, command, "start", "--wait", "--config", manifest], {
    stdio: ["inherit", "inherit", "inherit", "ipc"],
  });
  child.on("error", (error) => process.stderr.write(`The server could not be started: ${error.message}\n`));
  return child;
}

async function end(child: ChildProcess | undefined): Promise<void> {
  if (child?.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGTERM");
  await ended;
}

/** In a process that waits: resolves when it is its turn to serve. It ends when the one that started it has ended. */
export async function untilTurn(): Promise<void> {
  const lost = (): void => process.exit();
  process.once("disconnect", lost);
  await once(process, "message");
  process.off("disconnect", lost);
}

/** In a process that has waited: says that it serves, and is a process like any other from then on. */
export function tellServing(): void {
  process.send?.(turn, () => process.disconnect());
}
