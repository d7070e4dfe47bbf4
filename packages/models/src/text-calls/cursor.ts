/** A parser over a streamed reply: it yields when the next character has not arrived yet. */
export type Reading<Result> = Generator<void, Result, void>;

/**
 * The characters of a reply. Readers wait with `while (cursor.mustWait) yield;` before reading `char`, so no decision
 * depends on chunk boundaries. Consumed characters are not kept.
 */
export class Cursor {
  #text = "";
  #at = 0;
  #hasEnded = false;
  /** What follows characters that were put back. */
  readonly #later: { text: string; at: number }[] = [];

  /** Adds the next chunk. Only once all earlier ones are consumed. */
  feed(text: string): void {
    this.#text = text;
    this.#at = 0;
  }

  /** No further chunk will come. */
  end(): void {
    this.#hasEnded = true;
  }

  get mustWait(): boolean {
    return this.#at >= this.#text.length && !this.#hasEnded;
  }

  /** The reply is complete and consumed. */
  get isAtEnd(): boolean {
    return this.#at >= this.#text.length && this.#hasEnded;
  }

  /** The next character (a UTF-16 unit); empty at the end of the reply. */
  get char(): string {
    return this.#text[this.#at] ?? "";
  }

  /** Consumes the next character. */
  skip(): void {
    this.#at += 1;
    this.#advance();
  }

  /** Puts characters back, to be read again. */
  unread(text: string): void {
    if (text === "") return;
    if (this.#at < this.#text.length) this.#later.push({ text: this.#text, at: this.#at });
    this.#text = text;
    this.#at = 0;
  }

  /** Consumes all available characters, which may be put back. */
  takeAll(): string {
    const taken = this.#text.slice(this.#at);
    this.#at = this.#text.length;
    this.#advance();
    return taken;
  }

  /** Consumes available characters up to the next match of `stops`, a global pattern of one character. */
  takeUntil(stops: RegExp): string {
    stops.lastIndex = this.#at;
    // `test` instead of `exec`, which would create an object per stop.
    const end = stops.test(this.#text) ? stops.lastIndex - 1 : this.#text.length;
    const taken = this.#text.slice(this.#at, end);
    this.#at = end;
    this.#advance();
    return taken;
  }

  #advance(): void {
    if (this.#at < this.#text.length) return;
    const next = this.#later.pop();
    if (next !== undefined) ({ text: this.#text, at: this.#at } = next);
  }
}
