import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { dirname, join, relative } from "node:path";
import { z } from "zod";
import { addVariables } from "@millrace/engine/config/config";
import { errorMessage } from "@millrace/engine/errors/errors";
import { watchFolder } from "./watch-folder.ts";

/** Milliseconds in which several changes count as one: editors write a file more than once. */
const pause = 100;
/** Tells a waiting process to serve; its reply once it does. */
const turn = "serve";
/** Asks a waiting process whether it could serve; it replies with a `FolderCheck`. */
const check = "check";

/** What keeps a folder's modules from being served. */
const FolderCheck = z.object({
  problems: z.array(z.object({ graph_id: z.string(), message: z.string() })),
  /** Nothing of it can be served. */
  failure: z.string().optional(),
});
export type FolderCheck = z.infer<typeof FolderCheck>;

/** The serving process, and the graphs it failed to load. */
interface Serving {
  child: ChildProcess;
  failing: ReadonlySet<string>;
}

/**
 * Serves a manifest's folder in a child process, and hands over to a new one when a file changes: runs are parked and
 * resumed by the new process, which has loaded the program and the graphs beforehand. If it fails to load what the old
 * one could, the old one keeps serving. Ends with the signal that ends this process.
 */
export async function develop(manifest: string): Promise<void> {
  const folder = dirname(manifest);
  // Files are saved often, so restarts must be quick. Local pages may call, since developers test with them.
  addVariables({ MILLRACE_DRAIN_SECONDS: "1", MILLRACE_LOCAL_PAGES: "1" });
  const ending = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => ending.abort());
  let next: ChildProcess | undefined = startWaiting(manifest);
  let serving: Serving | undefined;
  const prepareNext = (): void => {
    if (!ending.signal.aborted && next?.connected !== true) next = startWaiting(manifest);
  };
  const takeNext = (): ChildProcess => {
    const child = next?.connected === true ? next : startWaiting(manifest);
    next = undefined;
    return child;
  };
  const serve = (child: ChildProcess, { problems }: FolderCheck): void => {
    serving = { child, failing: new Set(problems.map(({ graph_id }) => graph_id)) };
    // Not earlier: two processes starting at once would slow each other down.
    child.once("message", prepareNext);
    child.once("exit", () => {
      prepareNext();
      if (child !== serving?.child || ending.signal.aborted) return;
      serving = undefined;
      process.stdout.write(
        "The server has ended, see above. The next change of a file starts it again; Ctrl-C ends this.\n",
      );
    });
    child.send(turn);
  };
  const first = takeNext();
  serve(first, await checked(first));
  try {
    for await (const path of watchFolder(folder, { pause, signal: ending.signal })) {
      const child = takeNext();
      const found = await checked(child);
      const reasons = serving === undefined ? [] : newProblems(found, serving.failing);
      if (reasons.length > 0 && !ending.signal.aborted) {
        process.stdout.write(refusal(relative(folder, path), reasons));
        await end(child);
        prepareNext();
        continue;
      }
      process.stdout.write(`${relative(folder, path)} has changed; starting again\n`);
      const former = serving?.child;
      serving = undefined;
      await end(former);
      if (ending.signal.aborted) await end(child);
      else serve(child, found);
    }
  } finally {
    await Promise.all([end(serving?.child), end(next)]);
  }
}

/** The check of a waiting process; one that exits has failed. */
async function checked(child: ChildProcess): Promise<FolderCheck> {
  const failure = "the process that loaded it has ended; see above";
  const answer = Promise.withResolvers<FolderCheck>();
  child.once("message", (message) => answer.resolve(FolderCheck.parse(message)));
  child.once("exit", () => answer.resolve({ problems: [], failure }));
  child.send(check, (error) => error !== null && answer.resolve({ problems: [], failure }));
  return await answer.promise;
}

/** Problems that the serving version does not have. */
function newProblems({ problems, failure }: FolderCheck, known: ReadonlySet<string>): string[] {
  const ofGraphs = problems.filter(({ graph_id }) => !known.has(graph_id));
  return [...(failure === undefined ? [] : [failure]), ...ofGraphs.map((one) => `${one.graph_id}: ${one.message}`)];
}

function refusal(path: string, reasons: readonly string[]): string {
  const lines = reasons.map((reason) => `  ${reason.replaceAll("\n", "\n  ")}\n`).join("");
  return `${path} has changed, and cannot be served:\n${lines}What was served before is served on; the next change is tried again\n`;
}

/** Starts a process that loads the program, using the last compile cache, and waits for its turn. */
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

/** In a waiting process: resolves when it may serve, and checks the folder when asked. It exits with its parent. */
export async function untilTurn(look: () => Promise<FolderCheck>): Promise<void> {
  const lost = (): void => process.exit();
  process.once("disconnect", lost);
  const called = Promise.withResolvers<void>();
  const hear = (message: unknown): void => {
    if (message !== check) return called.resolve();
    const failed = (error: unknown): FolderCheck => ({ problems: [], failure: errorMessage(error) });
    void look()
      .catch(failed)
      .then((found) => process.send?.(found));
  };
  process.on("message", hear);
  await called.promise;
  process.off("message", hear);
  process.off("disconnect", lost);
}

/** In a process that waited: reports that it serves; from then on it is an ordinary process. */
export function reportServing(): void {
  process.send?.(turn, () => process.disconnect());
}
