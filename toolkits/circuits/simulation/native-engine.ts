import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { lstat, mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as after } from "node:timers";
import type { Config } from "@millrace/engine/config/config";
import { AppError } from "@millrace/engine/errors/errors";
import { hiddenPlaces } from "@millrace/engine/process/folders";
import type { Analysis } from "./deck/analysis.ts";
import { deckText, type Deck } from "./deck/deck.ts";
import { readAnswer, tooLong, type AnalysisResult, type Engine } from "./embedded-engine.ts";
import { createSemaphore } from "@millrace/engine/concurrency/limits";
import { startCommand, type CommandEnd, type RunningCommand } from "../../../src/tools/programs/run-command.ts";
import { createSandboxSearch, limiter } from "../../../src/tools/programs/sandbox.ts";

/** Limits of an analysis: seconds and concurrency; hidden folders, and where to find the sandbox. */
interface NativeOptions {
  seconds?: number;
  atOnce?: number;
  hidden?: readonly string[];
  sandbox?: () => Promise<string | undefined>;
}

/** Limits in bytes of memory and result, and characters of output: those of the embedded simulator. */
const [maxMemoryBytes, maxResultBytes, maxOutputLength] = [384 * 1024 * 1024, 64 * 1024 * 1024, 1_000_000];
/** Milliseconds between checks of the output's size. */
const lookMilliseconds = 100;
const resultFile = "out.raw";

/**
 * The machine's ngspice (`program`, an absolute path), each analysis in its own process and sandbox: no network, no
 * files except its programs, one temporary folder, and limits. The deck rules apply as for the embedded simulator.
 * `run` throws `invalid_state` without a sandbox: it never runs outside one.
 */
export function createNativeEngine(
  program: string,
  { seconds = 30, atOnce = 2, hidden = [], sandbox = createSandboxSearch() }: NativeOptions = {},
): Engine {
  const places = createSemaphore(atOnce);
  const ending = new AbortController();
  const working = new Set<Promise<AnalysisResult>>();

  async function analyse(deck: Deck, analysis: Analysis, signal: AbortSignal): Promise<AnalysisResult> {
    const box = await sandbox();
    if (box === undefined || !existsSync(limiter)) throw noSandbox(box);
    refuseBuiltIn(deck);
    const title = `millrace ${randomUUID()}`;
    const folder = await realpath(await mkdtemp(join(tmpdir(), "millrace-spice-")));
    try {
      await writeFile(join(folder, "deck.cir"), deckText(deck, analysis, title));
      await writeFile(join(folder, "run.cir"), commands(analysis));
      const words = wordsOf(program, seconds);
      const running = await startCommand({ words, workspace: folder, sandbox: box, hidden });
      const isFlood = await watched(running, program, { seconds, signal });
      const raw = await resultIn(folder);
      const output = running.output.whole().toString("utf8").slice(-maxOutputLength);
      const kind = isFlood || raw === "too_large" ? "flood" : "ended";
      return readAnswer({ kind, raw: raw === "too_large" ? null : raw, output }, analysis, title, deck);
    } finally {
      await rm(folder, { recursive: true, force: true, maxRetries: 3 });
    }
  }

  return {
    run(deck, analysis, signal) {
      const either = AbortSignal.any([signal, ending.signal]);
      const work = places.run(either, () => analyse(deck, analysis, either));
      working.add(work);
      // The caller handles the failure.
      const forget = () => working.delete(work);
      work.then(forget, forget);
      return work;
    },
    async close() {
      ending.abort(new AppError("invalid_state", "The server is closing: nothing is simulated any more."));
      // Each one's folder is removed with it.
      await Promise.allSettled(working);
    },
  };
}

/** Waits for the end, and kills the process at the limits of time and output or on abort. Returns whether the output was too large. */
async function watched(
  running: RunningCommand,
  program: string,
  { seconds, signal }: { seconds: number; signal: AbortSignal },
): Promise<boolean> {
  let why: "late" | "flood" | undefined;
  const end = (reason: typeof why): void => {
    why ??= reason;
    running.stop();
  };
  const stop = (): void => running.stop();
  const timer = after(() => end("late"), seconds * 1000);
  const looking = setInterval(() => {
    if (running.output.bytes() > maxOutputLength) end("flood");
  }, lookMilliseconds);
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  try {
    const ended = await running.ended;
    signal.throwIfAborted();
    if (why === "late") throw tooLong(seconds);
    requireStart(ended, program);
    return why === "flood" || running.output.bytes() > maxOutputLength;
  } finally {
    clearTimeout(timer);
    clearInterval(looking);
    signal.removeEventListener("abort", stop);
  }
}

/** The simulator configured by the operator, if any; it refuses to run if the operator disabled the sandbox. */
export function namedSimulator(
  config: Pick<Config, "ngspice" | "sandbox" | "dataDir" | "conversations" | "graphs" | "mcpFile" | "workspace">,
): Engine | undefined {
  const { ngspice, sandbox, workspace } = config;
  if (ngspice === undefined) return undefined;
  const none = (): Promise<undefined> => Promise.resolve(undefined);
  // Hidden even if they are among the machine's programs, which are visible.
  const hidden = [...hiddenPlaces(config), workspace];
  return createNativeEngine(ngspice, { hidden, sandbox: sandbox === "off" ? none : undefined });
}

/**
 * The program with its limits, stricter than those of sandboxed commands, and without system scripts, which would load
 * compiled models.
 */
function wordsOf(program: string, seconds: number): string[] {
  const limits = [`--data=${maxMemoryBytes}`, `--fsize=${maxResultBytes}`, `--cpu=${2 * seconds}`];
  return [
    "/usr/bin/env",
    "SPICE_SCRIPTS=/dev/null",
    "OMP_NUM_THREADS=1",
    limiter,
    ...limits,
    "--",
    program,
    "-n",
    "-b",
    "run.cir",
  ];
}

/** The commands for the simulator, the same as for the embedded one. */
function commands({ type }: Analysis): string {
  return [
    "* run",
    ".control",
    "set filetype=binary",
    "set noaskquit",
    "set nomoremode",
    "source deck.cir",
    "run",
    // For noise, the second plot holds only totals.
    ...(type === "noise" ? ["setplot noise1"] : []),
    `write ${resultFile}`,
    "quit",
    ".endc",
    ".end",
    "",
  ].join("\n");
}

/** The result, if it is a regular file and not a link. */
async function resultIn(folder: string): Promise<Uint8Array<ArrayBuffer> | "too_large" | null> {
  const path = join(folder, resultFile);
  const stats = await lstat(path).catch(() => undefined);
  if (stats?.isFile() !== true) return null;
  return stats.size >= maxResultBytes ? "too_large" : Uint8Array.from(await readFile(path));
}

function requireStart(end: CommandEnd, program: string): void {
  // The sandbox exits with this status if the program is missing or not executable.
  const isMissing = end.kind === "not_started" || (end.kind === "exited" && (end.code === 126 || end.code === 127));
  if (!isMissing) return;
  throw new AppError("invalid_state", `There is no program ${program} that could be run in the sandbox.`, {
    suggestion:
      "Install ngspice under /usr, name it with MILLRACE_NGSPICE, or remove that: then the one that comes along simulates.",
  });
}

function noSandbox(box: string | undefined): AppError {
  const what = box === undefined ? "bubblewrap makes no sandbox" : `there is no ${limiter}, which limits what it uses,`;
  return new AppError("invalid_state", `ngspice of the machine is not run: ${what} on this machine.`, {
    suggestion:
      "Install bubblewrap and util-linux, or remove MILLRACE_NGSPICE: then the simulator that comes along is used.",
  });
}

/** Foundry cards that only the embedded simulator has. */
function refuseBuiltIn(deck: Deck): void {
  const card = deck.statements.find(({ text }) => /^\.include modelcard\./iu.test(text));
  if (card === undefined) return;
  throw new AppError(
    "not_found",
    `${card.file}:${card.line}: ngspice of the machine does not bring ${card.text.slice(9)}.`,
    {
      suggestion: "Put the models into a file of the workspace and include that.",
    },
  );
}
