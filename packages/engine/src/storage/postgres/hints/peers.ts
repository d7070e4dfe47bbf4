import type { Hints } from "../../cluster.ts";
import type { Run } from "../../records.ts";

/** The part of a lease by which this server looks for itself. */
interface OwnLease {
  readonly id: number;
  heartbeatSoon(): void;
}

/** Which servers a write concerns: the one of a number, or all, where none has the run. */
type Concerned = number | null;

/** Tells other servers of what was written and is theirs to see to. Their beats find the same, later. */
export class Peers {
  readonly #hints: Hints;
  readonly #own: OwnLease;

  constructor(hints: Hints, own: OwnLease) {
    this.#hints = hints;
    this.#own = own;
  }

  /** A stop is asked of a run; of none where it is over. */
  stops(owner: Concerned | undefined): void {
    if (owner === undefined || owner === this.#own.id) return;
    this.#hints.hint(owner ?? "all", { type: "look" });
    if (owner === null) this.#own.heartbeatSoon();
  }

  /** A run has to wait. With its admission, stops may be asked of what comes before it, whichever servers have that. */
  waits({ multitask_strategy: strategy }: Run): void {
    if (strategy === "interrupt" || strategy === "rollback") this.#hints.hint("all", { type: "look" });
  }

  /** Runs were given back, for the others. */
  given(): void {
    this.#hints.hint("all", { type: "look" });
  }

  /** The next run of a session may begin, if it has one. */
  free(session_id: string): void {
    this.#hints.hint("all", { type: "free", session_id });
  }
}
