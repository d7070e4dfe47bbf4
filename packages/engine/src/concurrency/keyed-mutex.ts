import { AppError } from "../errors/errors.ts";
import { withTimeout } from "./abort.ts";

/** The default limit for the wait, in milliseconds. */
const defaultPatience = 10_000;

/** Runs work with the same key one after the other, first come, first served. */
export class KeyedMutex {
  readonly #last = new Map<string, Promise<void>>();
  readonly #patience: number;

  /** `patience`: milliseconds after which a waiting caller gives up. */
  constructor(patience = defaultPatience) {
    this.#patience = patience;
  }

  /**
   * Runs `work` when all earlier work under this key is over, whether it succeeded or failed. It must not use the same key.
   * Throws `conflict` when that takes too long; `work` has not run then.
   */
  async run<Result>(key: string, work: () => Promise<Result>): Promise<Result> {
    const before = this.#last.get(key);
    const { promise: over, resolve } = Promise.withResolvers<void>();
    const end = (): void => {
      resolve();
      if (this.#last.get(key) === over) this.#last.delete(key);
    };
    this.#last.set(key, over);
    if (
      before !== undefined &&
      !(await withTimeout(
        before.then(() => true),
        this.#patience,
        () => false,
      ))
    ) {
      // The next caller still waits for the work under way.
      void before.then(end);
      const seconds = this.#patience / 1000;
      throw new AppError("conflict", `An earlier change has not ended within ${seconds} s.`, {
        suggestion: "Nothing was changed; send the request again.",
        recoverable: true,
      });
    }
    try {
      return await work();
    } finally {
      end();
    }
  }
}
