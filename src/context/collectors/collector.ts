import type { SearchText } from "../workspace/search-workspace.ts";

/** Where to look, for one request. Paths are as the session has them: relative to the workspace. */
export interface CollectionContext {
  workspace: string;
  /** Whose failures are remembered; absent where nobody has any. */
  session?: string;
  circuit_file: string | null;
  sim_result: string | null;
  design_goals: string | null;
  /** What the session knows of the last failure. */
  error: string | null;
  /** Figures of the last simulation, by their names. */
  metrics: Readonly<Record<string, number>> | null;
  /** Milliseconds since 1970. */
  now: number;
  /** Files that tools have changed in the last 30 seconds, the newest first; absent where nobody notes them. */
  changed?: readonly string[];
  /** The user's words; absent where nobody has said any. */
  request?: string;
  /** Searches the workspace; absent: nothing is searched for. */
  search?: SearchText;
}

/** What is kept first when room is short; a lower number comes first. */
export const priorities = { critical: 0, high: 10, medium: 20, low: 30 } as const;

/** One source of context. Adding one is a file with this shape and a line in `index.ts`. */
export interface Collector {
  /** Names the section for events and for the snapshot. */
  name: string;
  /** Its heading for the model. */
  title: string;
  priority: (typeof priorities)[keyof typeof priorities];
  /** Tokens that are kept for it, whatever else was found; 0: only what is left over. */
  reserved: number;
  /**
   * The text for the model, `null` where there is nothing to say. What it throws is told as a warning and leaves the
   * others as they are; it ends with the signal. `warn` tells of what it had to leave out of its text.
   */
  collect(context: CollectionContext, signal: AbortSignal, warn: (reason: string) => void): Promise<string | null>;
}
