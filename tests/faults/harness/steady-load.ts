import { setTimeout as delay } from "node:timers/promises";
import { shapeNames } from "./aftermath.ts";
import { noneOf, type Figure, type Random } from "./scenario.ts";
import { approveSubject, beginSubject, judge, noFindings, settled, type Subject } from "./subject.ts";
import { getThread, listRuns, type World } from "./world.ts";

/** Milliseconds within which a run must be at its end, however often something is away meanwhile. */
const patience = 120_000;

/** Runs of all shapes one after the other, each of which has to come to its right end. */
export class SteadyLoad {
  readonly subjects: Subject[] = [];
  /** Calls that were reported as unknown, once the figures are there. */
  unknown = 0;
  readonly #at: () => World;
  readonly #random: Random;
  readonly #pause: number;
  readonly #findings = noFindings();
  #begun = 0;

  /** `at`: where the next request goes. `pause`: milliseconds between two looks at a run. */
  constructor(at: () => World, random: Random, pause?: number) {
    this.#at = at;
    this.#random = random;
    this.#pause = pause ?? 20;
  }

  /** One run after the other, until it is over. */
  async work(over: AbortSignal): Promise<void> {
    while (!over.aborted) {
      const subject = await this.#begin();
      this.subjects.push(subject);
      let end = await this.#settled(subject);
      if (end?.waiting === true) {
        await this.#approve(subject);
        end = await this.#settled(subject);
      }
      if (end === undefined) this.#findings.unended.push(`${subject.item} was not over after ${patience} ms`);
      else if (end.status === "missing") this.#findings.lost.push(`${subject.item}: its run is gone`);
      else if (end.status !== "success") {
        this.#findings.unended.push(`${subject.item} ended with ${end.status}: ${end.error ?? "no error is told"}`);
      }
      await delay(this.#random.below(1_000));
    }
  }

  #settled(subject: Subject): ReturnType<typeof settled> {
    return patiently(() => settled(this.#at, subject, patience, this.#pause));
  }

  /** One that was refused may be there all the same: the next try is another item in another thread. */
  #begin(): Promise<Subject> {
    return patiently(() => {
      this.#begun += 1;
      return beginSubject(this.#at(), this.#random.pick(shapeNames), `d${this.#begun}`);
    });
  }

  /** Says yes once: where the answer was lost, the run is there. */
  async #approve(subject: Subject): Promise<void> {
    const before = subject.runId;
    await patiently(async () => {
      const world = this.#at();
      const { status } = await getThread(world.server, subject.threadId);
      const newest = (await listRuns(world.server, subject.threadId))[0]?.run_id ?? before;
      if (newest !== before) subject.runId = newest;
      else if (status === "interrupted") await approveSubject(world, subject);
    });
  }

  /** Judges every run by its history and the tools' own record. */
  async figures(): Promise<Figure[]> {
    const findings = this.#findings;
    const world = this.#at();
    for (const subject of this.subjects) await judge(world, subject, findings);
    this.unknown = findings.unknown;
    const runs = this.subjects.length;
    return [
      noneOf("accepted messages lost", findings.lost, runs),
      noneOf("duplicate unsafe effects", findings.duplicates, runs),
      noneOf("runs not at their right end", findings.unended, runs),
      noneOf("ambiguous outcomes not reported", findings.unreported, findings.unknown),
      noneOf("histories a strict provider refused", world.model.unexpected, runs),
    ];
  }
}

/** What `work` gives when it succeeds, however often something is away. */
export async function patiently<Result>(work: () => Promise<Result>, pause = 200): Promise<Result> {
  for (const end = performance.now() + patience; ; await delay(pause)) {
    try {
      return await work();
    } catch (error) {
      if (performance.now() > end) throw error;
    }
  }
}
