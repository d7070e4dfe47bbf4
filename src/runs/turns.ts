/** Lets pieces of work with the same key go one after the other, in the order in which they came. */
export class Turns {
  readonly #last = new Map<string, Promise<void>>();

  /** Runs `work` when all that came before it under this key is over, well or not. It must not ask for the same key. */
  async next<Result>(key: string, work: () => Promise<Result>): Promise<Result> {
    const before = this.#last.get(key);
    const { promise: over, resolve } = Promise.withResolvers<void>();
    this.#last.set(key, over);
    try {
      await before;
      return await work();
    } finally {
      resolve();
      if (this.#last.get(key) === over) this.#last.delete(key);
    }
  }
}
