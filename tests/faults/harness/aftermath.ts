import { readEffects } from "./effect-log.ts";
import { atMost, noneOf, type Figure } from "./scenario.ts";
import { callsOf, shapes, type Shape } from "./script.ts";
import { approveSubject, judge, noFindings, settled, type Findings, type Subject } from "./subject.ts";
import type { World } from "./world.ts";

/** Milliseconds within which a run must be at its end, or wait for an answer, after a restart. */
export const patience = 10_000;

/** The names of the shapes: every entry of the record is one. */
export const shapeNames = Object.keys(shapes) as Shape[];

/** What is known of the runs that deaths of the server have hit. */
export class Aftermath {
  readonly #world: World;
  readonly #subjects: Subject[] = [];
  readonly #findings: Findings = noFindings();
  /** Milliseconds of each recovery, up to its slowest run. */
  readonly #recoveries: number[] = [];
  /** Calls that had their end in the ledger when the server was killed, and how often each had had its effect. */
  readonly #finished: { name: string; done: number }[] = [];

  constructor(world: World) {
    this.#world = world;
  }

  /** While the server is down: remembers which calls of these runs are over by its ledger. */
  async noteFinished(hit: readonly Subject[]): Promise<void> {
    const effects = readEffects(this.#world.effectsFile);
    for (const { shape, item, threadId } of hit) {
      const finished = await this.#world.database.finishedTools(threadId);
      const calls = callsOf(shape, item).flat();
      // The ledger knows the tools but not the items: of a tool that a run calls twice it is not clear which one is over.
      for (const call of calls.filter(({ name }) => calls.filter((other) => other.name === name).length === 1)) {
        const name = `${call.name} ${call.item}`;
        if (finished.includes(call.name)) this.#finished.push({ name, done: effects.get(name)?.done ?? 0 });
      }
    }
  }

  /** After a restart: waits until the runs are over or wait for an answer, which is then given. */
  async recover(hit: readonly Subject[]): Promise<void> {
    const start = performance.now();
    const ends = await Promise.all(hit.map((subject) => settled(this.#world, subject, patience)));
    this.#recoveries.push(performance.now() - start);
    for (const [index, subject] of hit.entries()) {
      const end = ends[index];
      this.#subjects.push(subject);
      if (end === undefined) this.#findings.unended.push(`${subject.item} was not over after ${patience} ms`);
      else if (end.status === "missing") this.#findings.lost.push(`${subject.item}: its run is gone`);
      else if (end.status !== "success") {
        this.#findings.unended.push(`${subject.item} ended with ${end.status}: ${end.error ?? "no error is told"}`);
      }
    }
    const waiting = hit.filter((_, index) => ends[index]?.waiting === true);
    await Promise.all(
      waiting.map(async (subject) => {
        await approveSubject(this.#world, subject);
        await settled(this.#world, subject, patience);
      }),
    );
  }

  /** Judges every run by its history, the tools' own record and the database; the server is stopped for it. */
  async figures(deaths: string): Promise<Figure[]> {
    const findings = this.#findings;
    for (const subject of this.#subjects) await judge(this.#world, subject, findings);
    await this.#world.server.stop();
    const effects = readEffects(this.#world.effectsFile);
    const database = await this.#world.database.verdict();
    const repeated = this.#finished.filter(({ name, done }) => done === 0 || effects.get(name)?.done !== done);
    const hidden = Math.max(0, database.ambiguousCalls - findings.unknown);
    const runs = this.#subjects.length;
    return [
      noneOf(`accepted messages lost in ${deaths}`, findings.lost, runs),
      noneOf("duplicate unsafe effects", findings.duplicates, runs),
      noneOf(
        "calls over by the ledger whose effect was missing, or came again",
        repeated.map(({ name, done }) => `${name} happened ${done} times, and ${effects.get(name)?.done} in the end`),
        this.#finished.length,
      ),
      noneOf("runs not at their right end or waiting within 10 s", findings.unended, runs),
      noneOf("ambiguous outcomes not reported", findings.unreported, findings.unknown),
      {
        what: "ambiguous calls in the database that were not reported",
        measured: `${hidden} of ${database.ambiguousCalls}`,
        target: "0",
        holds: hidden === 0,
      },
      {
        what: "runs that were hit at work and taken up again",
        measured: `${database.resumedRuns}`,
        target: "> 0",
        holds: database.resumedRuns > 0,
      },
      {
        what: "unfinished runs in the database, and its integrity",
        measured: `${database.unfinishedRuns}, ${database.isSound ? "sound" : "damaged"}`,
        target: "0, sound",
        holds: database.unfinishedRuns === 0 && database.isSound,
      },
      noneOf("histories a strict provider refused", this.#world.model.unexpected, runs),
      atMost("slowest recovery after the server was ready", Math.round(Math.max(...this.#recoveries)), patience, "ms"),
    ];
  }
}
