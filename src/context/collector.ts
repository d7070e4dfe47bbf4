import type { GraphState, RunContext } from "../state.ts";

/** A collector's input for one turn. Paths are relative to the workspace. */
export interface CollectionContext {
  workspace: string;
  session: string;
  /** The session's state; a toolkit reads its own fields from it by its own schema. */
  state: GraphState;
  /** The run's context, including the editor's document. */
  context: RunContext;
  /** The session's last error. */
  error: string | null;
  /** Milliseconds since 1970. */
  now: number;
  /** Files changed by tools in the last 30 seconds, newest first. */
  changed: readonly string[];
  /** The user's message; may be empty. */
  request: string;
}

/** Lower numbers are kept first. */
export const priorities = { critical: 0, high: 10, medium: 20, low: 30 } as const;

/** One source of context for the model. A toolkit lists its own. */
export interface Collector<Where = CollectionContext> {
  /** Name of the section in events and the snapshot. */
  name: string;
  /** Its heading for the model. */
  title: string;
  priority: (typeof priorities)[keyof typeof priorities];
  /** Reserved tokens; 0: only what others leave. */
  reserved: number;
  /** Its text includes the session's last error, which is then not repeated elsewhere. */
  includesError?: true;
  /** Whether there may be anything to collect in this turn. Must not read files. Default: always. */
  appliesTo?(where: Where): boolean;
  /**
   * The text for the model; `null` if there is none. Errors become warnings and do not affect other collectors. Must
   * end with the signal. `warn` reports what was left out.
   */
  collect(where: Where, signal: AbortSignal, warn: (reason: string) => void): Promise<string | null>;
}
