import { AppError } from "../errors/errors.ts";
import { withTimeout } from "./abort.ts";

/** Milliseconds that a turn is waited for, where nothing else is said. */
const usualPatience = 10_000;

/** Lets pieces of work with the same key go one after the other, in the order in which they came. */
export class KeyedMutex {
  readonly #last = new Map<string, Promise<void>>();
  readonly #patience: number;

  /** `patience`: milliseconds after which whoever waits gives up. */
  constructor(patience = usualPatience) {
    this.#patience = patience;
  }

  /**
   * Runs `work` when all that came before it under this key is over, well or not. It must not ask for the same key.
   * Throws `conflict` when that takes too long; nothing was done then.
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
      // Who comes next still waits for what goes on.
      void before.then(end);
      const seconds = this.#patience / 1000;
      throw new AppError("conflict", `Another change of the same thread has not ended within ${seconds} s.`, {
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
