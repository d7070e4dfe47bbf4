import { randomUUID } from "node:crypto";
import { AppError } from "@millrace/engine/errors/errors";
import { startCommand, type CommandEnd, type RunningCommand } from "../../../src/tools/programs/run-command.ts";
import { createSandboxSearch } from "../../../src/tools/programs/sandbox.ts";
import { ServiceKey } from "../../../src/tools/runtime/toolkit-services.ts";

/** Background commands per session, and their time limit in seconds. */
const [maxInBackground, backgroundSeconds] = [4, 1800];
/** Finished commands kept: per session, and in total. */
const [maxFinished, maxFinishedOfAll] = [64, 512];

/** A background command as models and clients see it. */
export interface BackgroundCommand {
  id: string;
  command: string;
  status: "running" | "finished" | "stopped" | "timed_out";
  /** ISO-8601. */
  begun_at: string;
  ended_at: string | null;
  /** `null` while it runs, and if a signal ended it. */
  exit_code: number | null;
  /** The readable output, shortened if long. */
  output: string;
}

/** The result of a foreground command. `end` is `null` after a timeout. */
export interface CommandResult {
  end: CommandEnd | null;
  seconds: number;
  shown: string;
  isWhole: boolean;
  isSandboxed: boolean;
  whole: () => Buffer;
}

/** The command and its folder. */
export interface ShellRequest {
  words: readonly string[];
  workspace: string;
}

/**
 * Settings of commands: `hidden` paths are invisible in the sandbox (the program's own data and keys), `search` finds
 * the sandbox, `hasOtherServers` tells whether commands of a session may run at other servers.
 */
interface ShellSettings {
  sandbox: "auto" | "off";
  hidden: readonly string[];
  search?: () => Promise<string | undefined>;
  hasOtherServers?: () => boolean;
}

interface Task {
  id: string;
  sessionId: string;
  command: string;
  startedAt: Date;
  ended: Date | undefined;
  end: CommandEnd | undefined;
  why: "stopped" | "timed_out" | undefined;
  running: RunningCommand;
}

/** The server's command runner. */
export const shellKey = new ServiceKey<Shell>("shell");

/** Runs commands for the tools: sandboxed if possible, in the foreground or background. */
export class Shell {
  readonly #settings: ShellSettings;
  readonly #search: () => Promise<string | undefined>;
  readonly #tasks = new Map<string, Task>();
  /** Sessions with commands being started, which already count. */
  readonly #starting = new Set<{ sessionId: string }>();
  #isClosed = false;

  constructor(settings: ShellSettings) {
    this.#settings = settings;
    this.#search = settings.search ?? createSandboxSearch();
  }

  /** Whether commands of a session may run at other servers, which this one cannot list. */
  get hasOtherServers(): boolean {
    return this.#settings.hasOtherServers?.() ?? false;
  }

  /** The cached path of the sandbox program; `undefined` if commands currently run without one. */
  sandbox(): Promise<string | undefined> {
    return this.#settings.sandbox === "off" ? Promise.resolve(undefined) : this.#search();
  }

  /** Runs a command until it ends, times out or `signal` aborts; then it is killed with its children. */
  async run(request: ShellRequest, signal: AbortSignal, milliseconds: number): Promise<CommandResult> {
    signal.throwIfAborted();
    const began = performance.now();
    const { running, isSandboxed } = await this.#start(request);
    let isLate = false;
    const stop = (): void => running.stop();
    const timer = setTimeout(() => {
      isLate = true;
      running.stop();
    }, milliseconds);
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) stop();
    try {
      const end = await running.ended;
      signal.throwIfAborted();
      const seconds = (performance.now() - began) / 1000;
      const { output } = running;
      return { end: isLate ? null : end, seconds, isSandboxed, ...output.text(), whole: () => output.whole() };
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", stop);
    }
  }

  /**
   * Starts a background command of a session, unless `signal` aborts first. Throws `conflict` if too many are running.
   */
  async begin(
    request: ShellRequest,
    sessionId: string,
    command: string,
    signal: AbortSignal,
  ): Promise<BackgroundCommand> {
    signal.throwIfAborted();
    const own = [...this.#of(sessionId).filter(({ end }) => end === undefined), ...this.#starting];
    if (own.filter((one) => one.sessionId === sessionId).length >= maxInBackground) {
      throw new AppError(
        "conflict",
        `${maxInBackground} commands run in the background of this conversation already.`,
        { suggestion: "Wait for one, or end one with background_commands and the action kill." },
      );
    }
    const id = `command-${randomUUID().slice(0, 8)}`;
    const place = { sessionId };
    this.#starting.add(place);
    const { running } = await this.#start(request).finally(() => this.#starting.delete(place));
    if (signal.aborted) {
      running.stop();
      await running.ended;
      throw signal.reason;
    }
    const task: Task = {
      id,
      sessionId,
      command,
      startedAt: new Date(),
      ended: undefined,
      end: undefined,
      why: undefined,
      running,
    };
    this.#tasks.set(id, task);
    const timer = setTimeout(() => this.#stop(task, "timed_out"), backgroundSeconds * 1000);
    timer.unref();
    void running.ended.then((end) => {
      clearTimeout(timer);
      task.end = end;
      task.ended = new Date();
      running.output.shrink();
      this.#forgetOldest(this.#of(sessionId), maxFinished);
      this.#forgetOldest([...this.#tasks.values()], maxFinishedOfAll);
    });
    return described(task);
  }

  /** A session's background commands, oldest first. */
  list(sessionId: string): BackgroundCommand[] {
    return this.#of(sessionId).map(described);
  }

  /** Kills one and waits for its end; `undefined` for an unknown id. */
  async kill(sessionId: string, id: string): Promise<BackgroundCommand | undefined> {
    const task = this.#of(sessionId).find((one) => one.id === id);
    if (task === undefined) return undefined;
    this.#stop(task, "stopped");
    await task.running.ended;
    task.end ??= await task.running.ended;
    return described(task);
  }

  /** Kills all of a deleted session, waits for their end, and drops them. */
  async forget(sessionId: string): Promise<void> {
    await Promise.all(this.#of(sessionId).map(({ id }) => this.kill(sessionId, id)));
    this.cleanUp(sessionId);
  }

  /** Drops finished ones; returns their ids. */
  cleanUp(sessionId: string): string[] {
    const ended = this.#of(sessionId).filter(({ end }) => end !== undefined);
    for (const { id } of ended) this.#tasks.delete(id);
    return ended.map(({ id }) => id);
  }

  /** Kills everything. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const running = [...this.#tasks.values()].filter(({ end }) => end === undefined);
    for (const task of running) this.#stop(task, "stopped");
    await Promise.all(running.map((task) => task.running.ended));
  }

  async #start(request: ShellRequest): Promise<{ running: RunningCommand; isSandboxed: boolean }> {
    const sandbox = await this.sandbox();
    if (this.#isClosed) throw new AppError("invalid_state", "The server is closing: nothing is started any more.");
    const running = await startCommand({ ...request, sandbox, hidden: this.#settings.hidden });
    return { running, isSandboxed: sandbox !== undefined };
  }

  #stop(task: Task, why: "stopped" | "timed_out"): void {
    if (task.end !== undefined) return;
    task.why ??= why;
    task.running.stop();
  }

  #of(sessionId: string): Task[] {
    return [...this.#tasks.values()].filter((task) => task.sessionId === sessionId);
  }

  #forgetOldest(tasks: readonly Task[], maxKept: number): void {
    const ended = tasks.filter(({ end }) => end !== undefined);
    for (const { id } of ended.slice(0, -maxKept)) this.#tasks.delete(id);
  }
}

function described({ id, command, startedAt, ended, end, why, running }: Task): BackgroundCommand {
  return {
    id,
    command,
    status: end === undefined ? "running" : (why ?? "finished"),
    begun_at: startedAt.toISOString(),
    ended_at: ended?.toISOString() ?? null,
    exit_code: end?.kind === "exited" ? end.code : null,
    output: end?.kind === "not_started" ? `It was not started: ${end.problem}.` : running.output.text().shown,
  };
}
