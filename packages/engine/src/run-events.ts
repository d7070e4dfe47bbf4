import type { Language } from "./language.ts";

/** The stream modes a client may request. */
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
 * Everything a client may see of a run, in order. `id` is the run's sequence, from 0. `namespace` is the path of
 * subgraphs (`node:task`), empty at the root. Values may hold live LangChain messages; `http/wire.ts` serialises them,
 * `storage/` keeps them by value. `at` is the time of emission in milliseconds since 1970, never decreasing; logs of
 * former versions have none.
 */
export type RunEvent = { id: number; at?: number } & (
  | { event: "metadata"; data: { run_id: string; attempt: number } }
  | { event: "values"; namespace: string[]; data: Record<string, unknown> }
  | { event: "updates"; namespace: string[]; data: Record<string, unknown> }
  /** `messages-tuple`: one chunk or one whole message, with its origin. */
  | { event: "messages"; namespace: string[]; data: unknown; metadata: Record<string, unknown> }
  /**
   * `messages`: the three events of the older form. `messages/partial` holds only the new chunk; readers concatenate.
   */
  | { event: "messages/metadata"; namespace: string[]; data: Record<string, unknown> }
  | { event: "messages/partial"; namespace: string[]; data: unknown }
  | { event: "messages/complete"; namespace: string[]; data: unknown[] }
  | { event: "custom"; namespace: string[]; data: unknown }
  | { event: "debug"; namespace: string[]; data: unknown }
  | { event: "tasks"; namespace: string[]; data: unknown }
  | { event: "checkpoints"; namespace: string[]; data: unknown }
  /** An event of LangGraph's own tools: start, output, end. */
  | { event: "tools"; namespace: string[]; data: unknown }
  /** The checkpoint of the `values` after it; only in runs of the event protocol, never on a run's stream. */
  | { event: "checkpoint"; namespace: string[]; data: unknown }
  /** LangChain's events of every runnable. */
  | { event: "events"; namespace: string[]; data: unknown }
  /** A subgraph starts or ends; `namespace` is its own. */
  | { event: "lifecycle"; namespace: string[]; data: Lifecycle }
  /** Public feedback URLs of the run, by the client's feedback keys. */
  | { event: "feedback"; namespace: string[]; data: Record<string, string> }
  /** `advice` is what can be done, by language, if more is known than the kind says. */
  | { event: "error"; data: { error: string; message: string; advice?: Record<Language, string> | undefined } }
);

/** A subgraph's lifecycle state. */
export interface Lifecycle {
  event: "started" | "completed" | "failed" | "interrupted";
  namespace: string[];
  error?: { error: string; message: string };
}

/** A session's changes outside its runs, emitted only on the session's stream, without an id. `time` is ISO-8601. */
export type SessionNotification = {
  type: "operation_undone";
  operation_id: string;
  path: string;
  /** The text to show again in the client's editor, if the operation changed it. */
  content?: string | undefined;
  time: string;
};

/** Why a run was stopped. */
export type StopReason = "user_requested" | "timeout" | "error" | "session_switch" | "app_shutdown";
