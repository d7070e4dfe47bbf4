/** Characters that one call may take; of a longer one nothing is kept. */
export const longestCall = 1_048_576;

/** A call as a text tells it, first when its name is known, then as a whole. */
export interface ToolUse {
  type: "tool_use";
  name: string;
  /** As they were written: all are texts. Empty while the call is partial. */
  params: Record<string, string>;
  /** The arguments that were written in JSON, where they have types of their own; the others are in `params`. */
  args?: Record<string, unknown>;
  /** More of it is to come. */
  partial: boolean;
}

/** A call that cannot be run: its form is wrong, the reply ended inside it, or it is longer than a call may be. */
export interface CallProblem {
  kind: "malformed" | "unclosed" | "too_large";
  name: string;
  /** What was expected, for the model. */
  message: string;
  /** The beginning of the call as it was written. */
  written: string;
}

/**
 * What a reply consists of, in order. Every partial `use` is followed by the same call as a whole or by a `problem`,
 * before anything else.
 */
export type ReplyPart =
  | { kind: "text"; text: string }
  | { kind: "reasoning"; text: string }
  | { kind: "use"; use: ToolUse }
  | { kind: "problem"; problem: CallProblem };

/** Collects what is found in a reply, neighbouring words as one. */
export class PartList {
  #parts: ReplyPart[] = [];

  /** Words for the user, or of the model's thinking. */
  say(kind: "text" | "reasoning", text: string): void {
    if (text === "") return;
    const last = this.#parts.at(-1);
    if (last?.kind === kind) last.text += text;
    else this.#parts.push({ kind, text });
  }

  add(part: ReplyPart): void {
    this.#parts.push(part);
  }

  /** Hands over what was found since the last time. */
  take(): ReplyPart[] {
    const parts = this.#parts;
    this.#parts = [];
    return parts;
  }
}
