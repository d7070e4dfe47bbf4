/** Work over the characters of a reply that arrives in pieces: it yields where the next character is not there yet. */
export type Reading<Result> = Generator<void, Result, void>;

/**
 * The characters of a reply. Who reads waits with `while (cursor.mustWait) yield;` before it looks at `char`, so
 * nothing it decides can depend on where the pieces were cut. What was read is not kept.
 */
export class Cursor {
  #text = "";
  #at = 0;
  #hasEnded = false;
  /** What follows characters that were given back. */
  readonly #later: { text: string; at: number }[] = [];

  /** The next piece. Only for when all before it was read. */
  feed(text: string): void {
    this.#text = text;
    this.#at = 0;
  }

  /** No further piece will come. */
  end(): void {
    this.#hasEnded = true;
  }

  get mustWait(): boolean {
    return this.#at >= this.#text.length && !this.#hasEnded;
  }

  /** The reply is over, and all of it was read. */
  get isAtEnd(): boolean {
    return this.#at >= this.#text.length && this.#hasEnded;
  }

  /** The next character (a UTF-16 unit); empty at the end of the reply. */
  get char(): string {
    return this.#text[this.#at] ?? "";
  }

  /** Passes the next character. */
  skip(): void {
    this.#at += 1;
    this.#advance();
  }

  /** Gives characters back, to be read again. */
  unread(text: string): void {
    if (text === "") return;
    if (this.#at < this.#text.length) this.#later.push({ text: this.#text, at: this.#at });
    this.#text = text;
    this.#at = 0;
  }

  /** All that can be taken at once; it may be given back. */
  takeAll(): string {
    const taken = this.#text.slice(this.#at);
    this.#at = this.#text.length;
    this.#advance();
    return taken;
  }

  /** What can be taken without waiting, up to the next of `stops`, a global pattern of one character. */
  takeUntil(stops: RegExp): string {
    stops.lastIndex = this.#at;
    // Without the match itself, which would be an object for each stop.
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
