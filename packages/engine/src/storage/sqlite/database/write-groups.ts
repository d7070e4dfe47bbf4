interface Group {
  works: (() => void)[];
  written: PromiseWithResolvers<void>;
  turn: NodeJS.Immediate;
}

/**
 * Writes of one run that are one transaction where they come in one turn of the event loop: the checkpoint of a step
 * follows the writes of its last task at once, and a commit costs more than what it holds. Work that fails takes its
 * group with it, as it fails the step.
 */
export class WriteGroups {
  readonly #write: (work: () => void) => Promise<void>;
  #open: Group | undefined;

  /** `write` does synchronous work in one transaction. */
  constructor(write: (work: () => void) => Promise<void>) {
    this.#write = write;
  }

  /** Writes at once, after what waits. */
  now(work: () => void): Promise<void> {
    const group = this.#join(work);
    this.#close(group);
    return group.written.promise;
  }

  /** Writes with the next `now`, and in the next turn of the event loop at the latest. */
  soon(work: () => void): Promise<void> {
    return this.#join(work).written.promise;
  }

  #join(work: () => void): Group {
    if (this.#open === undefined) {
      const group: Group = {
        works: [],
        written: Promise.withResolvers(),
        turn: setImmediate(() => this.#close(group)),
      };
      this.#open = group;
    }
    this.#open.works.push(work);
    return this.#open;
  }

  #close(group: Group): void {
    this.#open = undefined;
    clearImmediate(group.turn);
    group.written.resolve(
      this.#write(() => {
        for (const work of group.works) work();
      }),
    );
  }
}
