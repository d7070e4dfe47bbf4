import { randomUUID } from "node:crypto";
import { spawn, type ChildProcess } from "node:child_process";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { errorMessage, hasCode } from "@millrace/engine/errors/errors";
import { endGroup, keepGroup, signalGroup } from "@millrace/engine/concurrency/process-group";
import { createOutput, type CommandOutput } from "./command-output.ts";
import { sandboxArguments, searchPath } from "./sandbox.ts";

/** Milliseconds between SIGTERM and SIGKILL, and to wait for the outputs to close. */
const [kindMilliseconds, closeMilliseconds] = [250, 500];
/** Milliseconds in which killed processes are gone, unless they wait for a device. */
const goneMilliseconds = 2_000;

/** What to run: argv, the folder, and the path of bubblewrap if available. */
export interface CommandRequest {
  words: readonly string[];
  workspace: string;
  sandbox: string | undefined;
  /** Paths hidden in a sandbox. */
  hidden: readonly string[];
}

/** How a command ended. */
export type CommandEnd =
  | { kind: "exited"; code: number }
  | { kind: "signalled"; signal: string }
  | { kind: "not_started"; problem: string };

/** A running command. */
export interface RunningCommand {
  output: CommandOutput;
  /** Never rejects. Resolves when the command and all its children have ended. */
  ended: Promise<CommandEnd>;
  /** Ends the command and its children: SIGTERM, then SIGKILL. */
  stop(): void;
}

/**
 * Starts a command in its own process group, without stdin and without our environment. Without a sandbox, children
 * that left the group are found by a mark in their environment (Linux only).
 */
export async function startCommand(request: CommandRequest): Promise<RunningCommand> {
  const home = request.sandbox === undefined ? await mkdtemp(join(tmpdir(), "millrace-command-")) : undefined;
  const mark = `MILLRACE_COMMAND=${randomUUID()}`;
  const output = createOutput();
  const child = start(request, home ?? "/tmp", mark);
  if (child instanceof Error)
    return { output, ended: clean(home).then(() => notStarted(child, request)), stop: () => undefined };
  const leader = child.pid;
  if (leader !== undefined) keepGroup(leader);
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on("data", (chunk: Buffer) => output.add(chunk));
    stream?.on("error", () => undefined);
  }
  let force: NodeJS.Timeout | undefined;
  return {
    output,
    ended: whenEnded(child, request, mark).then(async (end) => {
      clearTimeout(force);
      await clean(home);
      return end;
    }),
    stop() {
      if (leader === undefined || force !== undefined) return;
      signalGroup(leader, "SIGTERM");
      force = setTimeout(() => signalGroup(leader, "SIGKILL"), kindMilliseconds);
    },
  };
}

/** `spawn` throws some errors instead of emitting them. */
function start(
  { words, workspace, sandbox, hidden }: CommandRequest,
  home: string,
  mark: string,
): ChildProcess | Error {
  const [name = "", value = ""] = mark.split("=");
  const environment = {
    PATH: searchPath(),
    HOME: home,
    TMPDIR: home,
    LANG: "C.UTF-8",
    TERM: "dumb",
    NO_COLOR: "1",
    CI: "1",
    [name]: value,
  };
  const [program = "", ...given] =
    sandbox === undefined ? words : [sandbox, ...sandboxArguments(words, { workspace, hidden, environment })];
  try {
    return spawn(program, given, {
      cwd: workspace,
      env: environment,
      stdio: ["ignore", "pipe", "pipe"],
      detached: true,
    });
  } catch (error) {
    return error instanceof Error ? error : new Error(errorMessage(error));
  }
}

async function whenEnded(child: ChildProcess, request: CommandRequest, mark: string): Promise<CommandEnd> {
  const { promise, resolve } = Promise.withResolvers<CommandEnd>();
  const closed = Promise.withResolvers<void>();
  child.once("error", (error) => resolve(notStarted(error, request)));
  child.once("exit", (code, signal) =>
    resolve(code === null ? { kind: "signalled", signal: signal ?? "SIGKILL" } : { kind: "exited", code }),
  );
  child.once("close", () => closed.resolve());
  const end = await promise;
  if (child.pid !== undefined) {
    endGroup(child.pid);
    await endMarked(mark);
  }
  // Reads remaining output, unless another process keeps it open.
  const timer = setTimeout(() => closed.resolve(), closeMilliseconds);
  if (end.kind !== "not_started") await closed.promise;
  clearTimeout(timer);
  child.stdout?.destroy();
  child.stderr?.destroy();
  return end;
}

function notStarted(error: Error, { words }: CommandRequest): CommandEnd {
  const isMissing = hasCode(error, "ENOENT");
  return { kind: "not_started", problem: isMissing ? `there is no program ${words[0] ?? ""}` : errorMessage(error) };
}

/**
 * Ends daemonized children that left the group, until none is there, new ones included. It looks twice, since a process
 * that is just becoming another program has no environment for a moment.
 */
async function endMarked(mark: string): Promise<void> {
  const deadline = performance.now() + goneMilliseconds;
  let misses = 0;
  while (misses < 2 && performance.now() < deadline) {
    const found = (await Promise.all((await processes()).map((id) => isMarked(id, mark)))).filter(
      (id) => id !== undefined,
    );
    misses = found.length === 0 ? misses + 1 : 0;
    for (const id of found) {
      try {
        process.kill(id, "SIGKILL");
      } catch (error) {
        if (!hasCode(error, "ESRCH", "EPERM")) throw error;
      }
    }
    // On a busy machine a killed process is there until it gets its turn.
    await delay(5);
  }
}

/** Process ids of this machine; none without /proc. */
async function processes(): Promise<number[]> {
  const names = await readdir("/proc").catch(() => []);
  return names
    .filter((name) => /^\d+$/u.test(name))
    .map(Number)
    .filter((id) => id !== process.pid);
}

async function isMarked(id: number, mark: string): Promise<number | undefined> {
  // A process that ended or belongs to another user is not ours.
  const environment = await readFile(`/proc/${id}/environ`, "latin1").catch(() => "");
  return environment.split("\0").includes(mark) ? id : undefined;
}

async function clean(home: string | undefined): Promise<void> {
  if (home !== undefined) await rm(home, { recursive: true, force: true, maxRetries: 3 });
}
