import { maxCallLength, type CallProblem, type PartList } from "./forms/tool-use.ts";

/** Characters kept of a call's original text, in case it turns out to be broken. */
const maxWrittenLength = 2000;

/** A call with a known name and an unknown end: it becomes either a complete call or one problem. */
export class CallDraft {
  readonly #name: string;
  readonly #parts: PartList;
  readonly #params = new Map<string, string>();
  #written = "";
  #length = 0;
  #isOver = false;

  constructor(name: string, written: string, parts: PartList) {
    this.#name = name;
    this.#parts = parts;
    parts.add({ kind: "use", use: { type: "tool_use", name, params: {}, partial: true } });
    this.add(written);
  }

  /** False once the call is known to be broken and nothing more need be kept. */
  get isOpen(): boolean {
    return !this.#isOver;
  }

  /** Counts the characters of the call; beyond the limit it is a problem. */
  add(written: string): void {
    if (this.#isOver) return;
    if (this.#written.length < maxWrittenLength) {
      this.#written += written.slice(0, maxWrittenLength - this.#written.length);
    }
    this.#length += written.length;
    if (this.#length > maxCallLength) this.fail("too_large", `A call may be ${maxCallLength} characters long.`);
  }

  /** Sets a parameter; the last value wins. */
  set(name: string, value: string): void {
    if (!this.#isOver) this.#params.set(name, value);
  }

  /** Completes the call. `args` are those of a call in JSON. */
  finish(args?: Record<string, unknown>): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const use = {
      type: "tool_use" as const,
      name: this.#name,
      params: Object.fromEntries(this.#params),
      partial: false,
    };
    this.#parts.add({ kind: "use", use: args === undefined ? use : { ...use, args } });
  }

  fail(kind: CallProblem["kind"], message: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#params.clear();
    this.#parts.add({ kind: "problem", problem: { kind, name: this.#name, message, written: this.#written } });
  }
}
