import type { GraphState, RunContext } from "../state.ts";

/** Where to look, for one turn. Paths are relative to the workspace. */
export interface CollectionContext {
  workspace: string;
  session: string;
  /** The session's state; a toolkit reads its own fields from it by its own schema. */
  state: GraphState;
  /** What the run has chosen; also the document that the editor shows. */
  context: RunContext;
  /** What the session knows of the last failure. */
  error: string | null;
  /** Milliseconds since 1970. */
  now: number;
  /** Files that tools have changed in the last 30 seconds, the newest first. */
  changed: readonly string[];
  /** The user's words; may be empty. */
  request: string;
}

/** What is kept first when room is short; a lower number comes first. */
export const priorities = { critical: 0, high: 10, medium: 20, low: 30 } as const;

/** One source of context for the model. A toolkit lists its own. */
export interface Collector<Where = CollectionContext> {
  /** Names the section for events and for the snapshot. */
  name: string;
  /** Its heading for the model. */
  title: string;
  priority: (typeof priorities)[keyof typeof priorities];
  /** Tokens reserved for it; 0: it gets only what the others leave. */
  reserved: number;
  /** Its text begins with the last error of the session, which is then not repeated elsewhere. */
  includesError?: true;
  /** Whether there may be anything to collect in this turn. Must not read files. Default: always. */
  appliesTo?(where: Where): boolean;
  /**
   * The text for the model, `null` where there is nothing to say. What it throws becomes a warning and leaves the
   * others as they are; it ends with the signal. `warn` reports what it had to leave out of its text.
   */
  collect(where: Where, signal: AbortSignal, warn: (reason: string) => void): Promise<string | null>;
}
