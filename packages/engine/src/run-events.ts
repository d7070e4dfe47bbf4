import type { Language } from "./language.ts";

/** The stream modes a client may ask for. */
export const streamModes = [
  "values",
  "updates",
  "messages",
  "messages-tuple",
  "custom",
  "debug",
  "tasks",
  "checkpoints",
  "tools",
  "events",
  "lifecycle",
] as const;
export type StreamMode = (typeof streamModes)[number];

/**
 * Everything a client may see of a run, in order. `id` is the run's own sequence, from 0. `namespace` is the path of
 * subgraphs (`node:task`), empty at the root. Values inside may hold live LangChain messages; `http/wire.ts` writes
 * them out, `storage/` keeps them by value. `at` is when it was told, in milliseconds since 1970 and never before what
 * was told earlier; logs of former versions have no times.
 */
export type RunEvent = { id: number; at?: number } & (
  | { event: "metadata"; data: { run_id: string; attempt: number } }
  | { event: "values"; namespace: string[]; data: Record<string, unknown> }
  | { event: "updates"; namespace: string[]; data: Record<string, unknown> }
  /** `messages-tuple`: one chunk or one whole message, with where it came from. */
  | { event: "messages"; namespace: string[]; data: unknown; metadata: Record<string, unknown> }
  /** `messages`: the three events of the older form. `messages/partial` holds only the new chunk; a reader adds up. */
  | { event: "messages/metadata"; namespace: string[]; data: Record<string, unknown> }
  | { event: "messages/partial"; namespace: string[]; data: unknown }
  | { event: "messages/complete"; namespace: string[]; data: unknown[] }
  | { event: "custom"; namespace: string[]; data: unknown }
  | { event: "debug"; namespace: string[]; data: unknown }
  | { event: "tasks"; namespace: string[]; data: unknown }
  | { event: "checkpoints"; namespace: string[]; data: unknown }
  /** A tool of LangGraph's own begins, says something, ends. */
  | { event: "tools"; namespace: string[]; data: unknown }
  /** Which checkpoint the `values` after it belong to; only in runs of the event protocol, never on a stream of a run. */
  | { event: "checkpoint"; namespace: string[]; data: unknown }
  /** What LangChain tells of every runnable. */
  | { event: "events"; namespace: string[]; data: unknown }
  /** A subgraph starts or ends; `namespace` is its own. */
  | { event: "lifecycle"; namespace: string[]; data: Lifecycle }
  /** Where anybody may judge the run, by what the client wants judged. */
  | { event: "feedback"; namespace: string[]; data: Record<string, string> }
  /** `advice` is what can be done, in each language, where more is known than the kind says. */
  | { event: "error"; data: { error: string; message: string; advice?: Record<Language, string> | undefined } }
);

/** Where a subgraph is in its life. */
export interface Lifecycle {
  event: "started" | "completed" | "failed" | "interrupted";
  namespace: string[];
  error?: { error: string; message: string };
}

/** What happens to a session outside of its runs, told on the session's stream alone, without an id. `time` is ISO-8601. */
export type SessionNews = {
  type: "operation_undone";
  operation_id: string;
  path: string;
  /** The text that the client's editor is to show again, where the operation had changed that. */
  content?: string | undefined;
  time: string;
};

/** Why a run was stopped. */
export type StopReason = "user_requested" | "timeout" | "error" | "session_switch" | "app_shutdown";
