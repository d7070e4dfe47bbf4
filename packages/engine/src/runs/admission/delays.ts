/** The longest wait a timer can hold, in milliseconds; a longer one is waited for in parts. */
const longest = 2_147_483_647;

/** Timers by name: at most one each, none after `close`. They do not keep the process alive. */
export class Delays {
  readonly #timers = new Map<string, NodeJS.Timeout>();
  #closed = false;

  /** Calls `work` once after `delay` milliseconds; an earlier timer of that name is dropped. */
  set(name: string, delay: number, work: () => void): void {
    if (this.#closed) return;
    this.clear(name);
    const timer = setTimeout(
      () => {
        this.#timers.delete(name);
        if (delay > longest) this.set(name, delay - longest, work);
        else work();
      },
      Math.min(delay, longest),
    );
    this.#timers.set(name, timer.unref());
  }

  clear(name: string): void {
    clearTimeout(this.#timers.get(name));
    this.#timers.delete(name);
  }

  close(): void {
    this.#closed = true;
    for (const name of this.#timers.keys()) this.clear(name);
  }
}
