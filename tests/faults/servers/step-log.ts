import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";

/** How many steps a walk has, and how long each takes. */
export const walk = { steps: 60, pause: 250 };
/** A walk that has begun no step for so many milliseconds is not at work where it was last. */
const atWork = 5_000;
/** Milliseconds after which a run counts as left lying. */
const patience = 60_000;

interface Step {
  step: number;
  pid: number;
  at: number;
}

/** What the graph `walker` notes, as far as it was read. */
export class StepLog {
  readonly #file: string;
  readonly #steps = new Map<string, Step[]>();
  #read = 0;
  #rest = "";

  constructor(file: string) {
    this.#file = file;
  }

  /** The steps of a walk so far. */
  of(item: string): readonly Step[] {
    this.#refresh();
    return this.#steps.get(item) ?? [];
  }

  /** How many steps a process has begun between two times. */
  begunBetween(pid: number, from: number, to: number): number {
    this.#refresh();
    return [...this.#steps.values()].flat().filter((step) => step.pid === pid && step.at > from && step.at < to).length;
  }

  /**
   * Milliseconds from `at`, when a process was hit, until each walk that was in its midst there begins its next step in another
   * process. Throws when one does not.
   */
  async untilElsewhere(pid: number, at: number): Promise<number[]> {
    this.#refresh();
    const hit = [...this.#steps].filter(([, steps]) => {
      const last = steps.at(-1);
      // A process that was frozen may note its step after another one has come to the end.
      const furthest = Math.max(...steps.map(({ step }) => step));
      return last?.pid === pid && furthest < walk.steps - 1 && at - last.at < atWork;
    });
    const next = (steps: Step[]): Step | undefined => steps.find((step) => step.at >= at && step.pid !== pid);
    for (const end = performance.now() + patience; hit.some(([, steps]) => next(steps) === undefined);) {
      if (performance.now() > end) {
        const left = hit.filter(([, steps]) => next(steps) === undefined).map(([item]) => item);
        throw new Error(`No server went on with ${left.join(", ")} in ${patience} ms.`);
      }
      await delay(50);
      this.#refresh();
    }
    return hit.map(([, steps]) => (next(steps)?.at ?? 0) - at);
  }

  #refresh(): void {
    const file = openSync(this.#file, "r");
    try {
      const bytes = Buffer.alloc(fstatSync(file).size - this.#read);
      this.#read += readSync(file, bytes, 0, bytes.length, this.#read);
      const lines = (this.#rest + bytes.toString()).split("\n");
      this.#rest = lines.pop() ?? "";
      for (const line of lines) {
        const [item = "", step, pid, at] = line.split(" ");
        const steps = this.#steps.get(item) ?? [];
        this.#steps.set(item, steps);
        steps.push({ step: Number(step), pid: Number(pid), at: Number(at) });
      }
    } finally {
      closeSync(file);
    }
  }
}
