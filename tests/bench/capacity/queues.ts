/** What happens next. */
type Next = () => void;

/** Random numbers of [0, 1), the same for the same seed (mulberry32). */
export function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000;
  };
}

/** Simulated time in milliseconds, and what is to happen when: a binary heap. */
export class Clock {
  now = 0;
  readonly #random: () => number;
  readonly #times: number[] = [];
  readonly #nexts: Next[] = [];

  constructor(seed: number) {
    this.#random = randomOf(seed);
  }

  /** A number of [0, 1). */
  random(): number {
    return this.#random();
  }

  /** A time of this mean, as they are between events that come by chance. */
  chance(mean: number): number {
    return -mean * Math.log(1 - this.#random());
  }

  after(delay: number, next: Next): void {
    const [times, nexts, time] = [this.#times, this.#nexts, this.now + delay];
    let place = times.length;
    times.push(time);
    nexts.push(next);
    while (place > 0) {
      const parent = (place - 1) >> 1;
      const at = times[parent];
      const before = nexts[parent];
      if (at === undefined || before === undefined || at <= time) break;
      times[place] = at;
      nexts[place] = before;
      place = parent;
    }
    times[place] = time;
    nexts[place] = next;
  }

  /** Lets everything happen up to this time. */
  runUntil(end: number): void {
    for (let first = this.#times[0]; first !== undefined && first <= end; first = this.#times[0]) {
      this.now = first;
      this.#takeFirst()?.();
    }
    this.now = end;
  }

  #takeFirst(): Next | undefined {
    const [times, nexts] = [this.#times, this.#nexts];
    const found = nexts[0];
    const [time, next] = [times.pop(), nexts.pop()];
    const count = times.length;
    if (count === 0 || time === undefined || next === undefined) return found;
    let place = 0;
    for (;;) {
      let child = 2 * place + 1;
      const [left, right] = [times[child], times[child + 1]];
      if (left === undefined) break;
      if (right !== undefined && right < left) child += 1;
      const at = times[child];
      const moved = nexts[child];
      if (at === undefined || moved === undefined || at >= time) break;
      times[place] = at;
      nexts[place] = moved;
      place = child;
    }
    times[place] = time;
    nexts[place] = next;
    return found;
  }
}

/** Places that work waits for, first come, first served: the cores of a machine, the slots of a server, a lock. */
export class Station {
  readonly #clock: Clock;
  readonly places: number;
  #taken = 0;
  readonly #waiting: Next[] = [];
  #first = 0;
  /** Milliseconds that places were taken, until the last change. */
  #busy = 0;
  #since = 0;

  constructor(clock: Clock, places: number) {
    this.#clock = clock;
    this.places = places;
  }

  /** How much waits. */
  get waiting(): number {
    return this.#waiting.length - this.#first;
  }

  /** Goes on with a place, which `free` gives back. */
  take(next: Next): void {
    if (this.#taken >= this.places) {
      this.#waiting.push(next);
      return;
    }
    this.#count();
    this.#taken += 1;
    next();
  }

  free(): void {
    const next = this.#waiting[this.#first];
    if (next === undefined) {
      this.#count();
      this.#taken -= 1;
      return;
    }
    this.#first += 1;
    // The queue moves up now and then, not each time.
    if (this.#first > 1_000 && this.#first * 2 > this.#waiting.length) {
      this.#waiting.splice(0, this.#first);
      this.#first = 0;
    }
    next();
  }

  /** Work of so many milliseconds at one place. */
  use(time: number, next: Next): void {
    this.take(() => {
      this.#clock.after(time, () => {
        this.free();
        next();
      });
    });
  }

  /** Counts from now on. */
  reset(): void {
    this.#busy = 0;
    this.#since = this.#clock.now;
  }

  /** The share of the places that was taken since `begun`. */
  used(begun: number): number {
    this.#count();
    return this.#busy / (this.#clock.now - begun) / this.places;
  }

  #count(): void {
    this.#busy += (this.#clock.now - this.#since) * this.#taken;
    this.#since = this.#clock.now;
  }
}

/** The disk of the log: one flush at a time, which takes along every commit that has come before it began. */
export class LogDisk {
  readonly #clock: Clock;
  readonly #flushMs: number;
  readonly #bytesPerMs: number;
  #bytes = 0;
  #waiting: Next[] = [];
  #isFlushing = false;
  written = 0;
  flushes = 0;

  /** How long a flush takes at least, and how many bytes go into a millisecond. */
  constructor(clock: Clock, { flushMs, bytesPerMs }: { flushMs: number; bytesPerMs: number }) {
    this.#clock = clock;
    this.#flushMs = flushMs;
    this.#bytesPerMs = bytesPerMs;
  }

  /** Goes with the next flush, whichever commit asks for that. */
  add(bytes: number): void {
    this.#bytes += bytes;
  }

  /** A commit that waits until it is on disk. */
  flush(next: Next): void {
    this.#waiting.push(next);
    if (!this.#isFlushing) this.#begin();
  }

  #begin(): void {
    const [bytes, waiting] = [this.#bytes, this.#waiting];
    [this.#bytes, this.#waiting, this.#isFlushing] = [0, [], true];
    this.#clock.after(Math.max(this.#flushMs, bytes / this.#bytesPerMs), () => {
      this.written += bytes;
      this.flushes += 1;
      this.#isFlushing = false;
      if (this.#waiting.length > 0) this.#begin();
      for (const next of waiting) next();
    });
  }
}

/** Times by their percentiles, to 3 %: how many there are of each size. */
export class Times {
  readonly #counts: number[] = [];
  count = 0;

  add(time: number): void {
    const size = Math.max(0, Math.round(Math.log(Math.max(time, 0.01) / 0.01) / Math.log(1.03)));
    while (this.#counts.length <= size) this.#counts.push(0);
    this.#counts[size] = (this.#counts[size] ?? 0) + 1;
    this.count += 1;
  }

  percentile(rank: number): number {
    let left = Math.ceil((rank / 100) * this.count);
    for (const [size, count] of this.#counts.entries()) {
      left -= count;
      if (left <= 0 && this.count > 0) return 0.01 * 1.03 ** size;
    }
    return Number.NaN;
  }
}
