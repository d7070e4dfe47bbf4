import { randomUUID } from "node:crypto";
import { setTimeout as after } from "node:timers";
import { Worker } from "node:worker_threads";
import { z } from "zod";
import { AppError } from "@millrace/engine/errors/errors";
import { createSemaphore } from "@millrace/engine/concurrency/limits";
import { unlessAborted } from "@millrace/engine/concurrency/abort";
import type { Analysis } from "./deck/analysis.ts";
import { deckText, type Deck } from "./deck/deck.ts";
import { readRawFile, type Plot } from "./raw-file.ts";
import { failureIn, hasLeftOut, measuredIn, warningsIn } from "./simulator-output.ts";

/** The result of one analysis: values, the circuit's own measurements, and warnings. */
export interface AnalysisResult {
  plot: Plot;
  measured: Record<string, number>;
  warnings: string[];
}

/** Runs analyses of circuits. Threads start with the first one and end after an idle minute. */
export interface Engine {
  /**
   * Throws `timeout`, `too_large` for too much memory or output, `execution_failed` for a circuit that cannot be
   * simulated, `invalid_parameter` for one that cannot be parsed, and the signal's reason: by then the simulation has
   * ended.
   */
  run(deck: Deck, analysis: Analysis, signal: AbortSignal): Promise<AnalysisResult>;
  close(): Promise<void>;
}

/** Options of an engine: seconds per analysis, concurrent threads, and the worker's file. */
export interface EngineOptions {
  seconds?: number;
  threads?: number;
  idleMilliseconds?: number;
}

/** The worker's file: next to this one, with the same extension in sources or a bundle. */
const workerFile = new URL(
  import.meta.url.endsWith(".ts") ? "./simulation-worker.ts" : "./simulation-worker.js",
  import.meta.url,
);

const Answer = z.object({
  id: z.number(),
  kind: z.enum(["ended", "fatal", "flood"]),
  raw: z.instanceof(Uint8Array).nullable(),
  output: z.string(),
});
type Answer = z.infer<typeof Answer>;

/** Analyses after which a thread is replaced. */
const maxRuns = 200;

/** Megabytes of a thread's JavaScript heap; the simulator's memory is limited in the thread. */
const heapMegabytes = 512;

interface Thread {
  worker: Worker;
  /** Resolves when the simulator is loaded, which takes a second or more; time limits count from then on. */
  ready: Promise<void>;
  /** Completed analyses: each circuit stays in its memory. */
  runs: number;
  idle: NodeJS.Timeout | undefined;
}

/** Creates an engine; it starts nothing before the first analysis. */
export function createEngine({ seconds = 30, threads = 2, idleMilliseconds = 60_000 }: EngineOptions = {}): Engine {
  const free: Thread[] = [];
  const all = new Set<Thread>();
  const places = createSemaphore(threads);
  let runs = 0;

  function begin(): Thread {
    const worker = new Worker(workerFile, {
      // The simulator inherits nothing: no environment, no arguments, no output.
      env: {},
      argv: [],
      stdout: true,
      stderr: true,
      resourceLimits: { maxOldGenerationSizeMb: heapMegabytes },
    });
    worker.stdout.resume();
    worker.stderr.resume();
    const thread: Thread = { worker, ready: loaded(worker), runs: 0, idle: undefined };
    worker.once("exit", () => {
      all.delete(thread);
      const place = free.indexOf(thread);
      if (place >= 0) free.splice(place, 1);
    });
    // An idle thread that ends is simply replaced later.
    worker.on("error", () => undefined);
    all.add(thread);
    return thread;
  }

  async function end(thread: Thread): Promise<void> {
    clearTimeout(thread.idle);
    await thread.worker.terminate();
  }

  function keep(thread: Thread): void {
    // An idle thread must not keep the process alive.
    thread.worker.unref();
    thread.idle = after(() => void end(thread), idleMilliseconds).unref();
    free.push(thread);
  }

  async function analyse(deck: Deck, analysis: Analysis, signal: AbortSignal): Promise<AnalysisResult> {
    let thread: Thread | undefined = free.pop() ?? begin();
    try {
      clearTimeout(thread.idle);
      thread.worker.ref();
      // A circuit that cannot be parsed leaves the previous one in the simulator; the title shows whose result this is.
      const title = `millrace ${randomUUID()}`;
      await unlessAborted(thread.ready, signal);
      const answer = await ask(thread.worker, (runs += 1), deckText(deck, analysis, title), { seconds, signal });
      if (answer.kind === "ended" && (thread.runs += 1) < maxRuns) {
        keep(thread);
        thread = undefined;
      }
      return readAnswer(answer, analysis, title, deck);
    } finally {
      if (thread !== undefined) await end(thread);
    }
  }

  return {
    run: (deck, analysis, signal) => places.run(signal, () => analyse(deck, analysis, signal)),
    async close() {
      await Promise.all([...all].map(end));
    },
  };
}

async function loaded(worker: Worker): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  worker.once("message", () => resolve());
  worker.once("error", () => reject(broken()));
  worker.once("exit", () => reject(broken()));
  await promise;
}

async function ask(
  worker: Worker,
  id: number,
  deck: string,
  { seconds, signal }: { seconds: number; signal: AbortSignal },
): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const onMessage = (message: unknown): void => {
    const answer = Answer.safeParse(message).data;
    if (answer?.id === id) resolve(answer);
  };
  const lost = (): void => reject(broken());
  const stop = (): void => reject(signal.reason);
  const late = after(() => reject(tooLong(seconds)), seconds * 1000);
  worker.on("message", onMessage);
  worker.once("error", lost);
  worker.once("exit", lost);
  signal.addEventListener("abort", stop, { once: true });
  try {
    signal.throwIfAborted();
    worker.postMessage({ id, deck });
    return await promise;
  } finally {
    clearTimeout(late);
    worker.off("message", onMessage);
    worker.off("error", lost);
    worker.off("exit", lost);
    signal.removeEventListener("abort", stop);
  }
}

/**
 * The outcome of a simulation: the values under this title, or the failure in the simulator's output. `flood`: the output
 * was too large; `fatal`: the simulator crashed.
 */
export function readAnswer(
  { kind, raw, output }: Pick<Answer, "kind" | "raw" | "output">,
  analysis: Analysis,
  title: string,
  deck: Deck,
): AnalysisResult {
  if (kind === "flood") {
    throw new AppError("too_large", `The analysis ${analysis.card} gave more than can be kept.`, {
      suggestion: "Take a larger step, a shorter time or fewer nodes.",
    });
  }
  const plot = raw === null || kind === "fatal" ? undefined : readRawFile(raw);
  if (plot === undefined || plot.title !== title || plot.points === 0 || hasLeftOut(output)) {
    throw failureIn(output, analysis, deck);
  }
  return { plot, measured: measuredIn(output), warnings: warningsIn(output, deck) };
}

/** The error for a simulation that exceeded its time. */
export function tooLong(seconds: number): AppError {
  return new AppError("timeout", `The simulation took longer than ${seconds} seconds and was ended.`, {
    suggestion: "Take a larger step or a shorter time, or look for a circuit that oscillates faster than it should.",
  });
}

function broken(): AppError {
  return new AppError("too_large", "The simulator broke down, probably for want of memory.", {
    suggestion: "Simulate a smaller circuit, a shorter time or fewer points.",
  });
}
