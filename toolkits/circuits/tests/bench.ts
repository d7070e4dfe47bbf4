import { setTimeout as pause } from "node:timers/promises";
import { readAnalysis } from "../simulation/deck/analysis.ts";
import { prepareDeck } from "../simulation/deck/deck.ts";
import { createEngine } from "../simulation/embedded-engine.ts";
import type { Section, ToolkitMeasures } from "../../../tests/bench/figures.ts";
import { percentile } from "../../../tests/bench/servers/load.ts";

/** Milliseconds after which a simulation is stopped at the latest, and that a stop may take. */
const [latest, limit] = [1000, 500];
const never = new AbortController().signal;
/** It would go on for minutes. */
const circuit = "Endless\nV1 in 0 pulse(0 1 0 1p 1p 1n 2n)\nR1 in out 1k\nC1 out 0 1n\n.end";
const [point, transient] = [readAnalysis(".op", "bench"), readAnalysis(".tran 1n 400u", "bench")];

/**
 * How long a stop of a running simulation takes, at random moments of a long transient: from the signal until the simulation has
 * ended with its thread, as `Engine.run` promises. Each begins with a thread that is loaded and has simulated.
 */
async function measureSimulationStop(stops: number): Promise<Section> {
  const deck = await prepareDeck("endless.cir", async () => circuit);
  const engine = createEngine({ seconds: 60, threads: 1 });
  const times: number[] = [];
  try {
    for (let round = 0; round < stops; round += 1) {
      await engine.run(deck, point, never);
      const stop = new AbortController();
      const ended = engine.run(deck, transient, stop.signal).then(
        () => "it had ended by itself",
        (error: unknown) => error,
      );
      await pause(Math.random() * latest);
      const began = performance.now();
      const reason = new Error("stopped");
      stop.abort(reason);
      const outcome = await ended;
      if (outcome !== reason) throw new Error(`The simulation was not stopped: ${String(outcome)}`);
      times.push(performance.now() - began);
    }
  } finally {
    await engine.close();
  }
  const note = `${stops} stops within ${latest} ms of the start of a transient`;
  return {
    title: "A stop of a running simulation",
    figures: [
      { measure: "until it has ended, p50", value: percentile(times, 50), unit: "ms" },
      { measure: "p99", value: percentile(times, 99), unit: "ms", max: limit, note },
      { measure: "the longest", value: Math.max(...times), unit: "ms", max: limit },
    ],
  };
}

/** What this toolkit adds to the benchmark, by the names that `--only` takes. */
export const measures: ToolkitMeasures = { stops: measureSimulationStop };
