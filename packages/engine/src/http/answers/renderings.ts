/** Together the long ones have at most so many characters or bytes; the oldest go first. */
const mostKept = 32 * 1024 * 1024;
/** From this length on a rendering is long: short ones stay as long as what they were made of. */
const longFrom = 8 * 1024;

/**
 * What was rendered of objects that several readers get, in the order in which they came. A run keeps its newest events
 * for its readers; each may be a state of megabytes, whose messages they share, and its text would not.
 */
export class Renderings<Rendering> {
  readonly #known = new WeakMap<object, Rendering>();
  readonly #long: { of: WeakRef<object>; length: number }[] = [];
  #kept = 0;

  /** `undefined` where it was not rendered, or that is too long ago. */
  get(of: object): Rendering | undefined {
    return this.#known.get(of);
  }

  /** Keeps a rendering of this length. */
  set(of: object, rendering: Rendering, length: number): void {
    this.#known.set(of, rendering);
    if (length < longFrom) return;
    this.#long.push({ of: new WeakRef(of), length });
    this.#kept += length;
    while (this.#kept > mostKept) this.#forgetOldest();
  }

  #forgetOldest(): void {
    const oldest = this.#long.shift();
    const of = oldest?.of.deref();
    this.#kept -= oldest?.length ?? 0;
    if (of !== undefined) this.#known.delete(of);
  }
}
