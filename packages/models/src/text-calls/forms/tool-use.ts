/** Maximum characters of a call; longer ones are discarded. */
export const maxCallLength = 1_048_576;

/** A call in text, emitted when its name is known and again when complete. */
export interface ToolUse {
  type: "tool_use";
  name: string;
  /** The original values, all texts. Empty while the call is partial. */
  params: Record<string, string>;
  /** Arguments written as JSON, with their own types; the others are in `params`. */
  args?: Record<string, unknown>;
  /** Whether more of it follows. */
  partial: boolean;
}

/** A call that cannot run: malformed, unfinished, or too long. */
export interface CallProblem {
  kind: "malformed" | "unclosed" | "too_large";
  name: string;
  /** What was expected, for the model. */
  message: string;
  /** The start of the call's original text. */
  written: string;
}

/**
 * The parts of a reply, in order. Every partial `use` is followed by the same complete call or a `problem`, before
 * anything else.
 */
export type ReplyPart =
  | { kind: "text"; text: string }
  | { kind: "reasoning"; text: string }
  | { kind: "use"; use: ToolUse }
  | { kind: "problem"; problem: CallProblem };

/** Collects the parts of a reply, merging adjacent texts. */
export class PartList {
  #parts: ReplyPart[] = [];

  /** Text for the user, or the model's reasoning. */
  say(kind: "text" | "reasoning", text: string): void {
    if (text === "") return;
    const last = this.#parts.at(-1);
    if (last?.kind === kind) last.text += text;
    else this.#parts.push({ kind, text });
  }

  add(part: ReplyPart): void {
    this.#parts.push(part);
  }

  /** Returns the parts found since the last call. */
  take(): ReplyPart[] {
    const parts = this.#parts;
    this.#parts = [];
    return parts;
  }
}
