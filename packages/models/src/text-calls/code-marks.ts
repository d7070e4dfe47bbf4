/** Maximum indentation of a code fence, including list and quotation marks. */
const maxIndentLength = 40;
const indent = /^[ \t]*(?:(?:>|[-*+]|\d{1,9}[.)])[ \t]+|>)*[ \t]*$/;

/**
 * Tracks whether a position in streamed Markdown is code: in a fence of backticks or tildes, or between backticks in
 * one line.
 */
export class CodeMarks {
  /** The start of the current line. */
  #line = "";
  #fence: { char: string; length: number; isFirstLine: boolean } | undefined;
  /** Number of backticks that opened code in this line. */
  #open = 0;

  get place(): "prose" | "line" | "fence" {
    if (this.#fence !== undefined) return "fence";
    return this.#open > 0 ? "line" : "prose";
  }

  /** Whether only white space and list marks precede in this line. */
  get isLineStart(): boolean {
    return indent.test(this.#line);
  }

  /** Processes text without runs of backticks and tildes. */
  pass(text: string): void {
    const last = text.lastIndexOf("\n");
    if (last !== -1) {
      this.#line = "";
      this.#open = 0;
      if (this.#fence !== undefined) this.#fence.isFirstLine = false;
    }
    this.#line += text.slice(last + 1, last + 2 + maxIndentLength - this.#line.length);
  }

  /** Processes a run of backticks or tildes, given the character after it (empty at the end). */
  run(char: string, length: number, next: string): void {
    const isIndent = this.#line.length <= maxIndentLength && indent.test(this.#line);
    this.#line += char.repeat(Math.min(length, maxIndentLength));
    const fence = this.#fence;
    if (fence !== undefined) {
      // ```code``` in one line is no fence.
      const isInline = fence.isFirstLine && char === "`" && fence.char === "`";
      const closes = isIndent && char === fence.char && length >= fence.length && next.trim() === "";
      if (isInline || closes) this.#fence = undefined;
    } else if (isIndent && length >= 3) this.#fence = { char, length, isFirstLine: true };
    else if (char === "`") this.#open = this.#open === 0 ? length : this.#open === length ? 0 : this.#open;
  }
}
