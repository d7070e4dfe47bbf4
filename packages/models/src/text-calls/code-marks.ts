/** The longest indentation, with list marks and quotation marks, that a line of code fence may have. */
const longestIndent = 40;
const indent = /^[ \t]*(?:(?:>|[-*+]|\d{1,9}[.)])[ \t]+|>)*[ \t]*$/;

/**
 * Knows whether a place in a Markdown text is code: in a fence of backticks or tildes, or between backticks in one
 * line. It is told the text as it goes by.
 */
export class CodeMarks {
  /** The beginning of the line. */
  #line = "";
  #fence: { char: string; length: number; isFirstLine: boolean } | undefined;
  /** Backticks that opened code in this line. */
  #open = 0;

  get place(): "prose" | "line" | "fence" {
    if (this.#fence !== undefined) return "fence";
    return this.#open > 0 ? "line" : "prose";
  }

  /** Nothing but white space and list marks stands before in this line. */
  get isLineStart(): boolean {
    return indent.test(this.#line);
  }

  /** Text without runs of backticks and tildes. */
  pass(text: string): void {
    const last = text.lastIndexOf("\n");
    if (last !== -1) {
      this.#line = "";
      this.#open = 0;
      if (this.#fence !== undefined) this.#fence.isFirstLine = false;
    }
    this.#line += text.slice(last + 1, last + 2 + longestIndent - this.#line.length);
  }

  /** A run of backticks or tildes, and the character after it (empty at the end). */
  run(char: string, length: number, next: string): void {
    const isIndent = this.#line.length <= longestIndent && indent.test(this.#line);
    this.#line += char.repeat(Math.min(length, longestIndent));
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
