import type { Assignment } from "./delegation.ts";

/** Status of a background agent; `asking`: waiting for a person. */
export const backgroundStatuses = ["queued", "working", "asking", "finished"] as const;

/** The result of a background agent. `cost` is `null` if no price is known. */
export interface BackgroundReport {
  success: boolean;
  end_reason: string;
  reply: string;
  tokens: number;
  cost: number | null;
}

/** A background agent with its own session. */
export interface BackgroundAgent {
  session_id: string;
  /** Its newest run; `null` if it was stopped before it started. */
  run_id: string | null;
  name: string;
  task: string;
  status: (typeof backgroundStatuses)[number];
  /** ISO-8601. */
  begun_at: string;
  /** `null` until it has finished. */
  report: BackgroundReport | null;
  /** Cleared by its caller: no longer listed to the model. */
  cleared: boolean;
}

/** An agent's current activity; `text` is its partial reply. */
export interface BackgroundWatch {
  iteration: number;
  max_iterations: number;
  tokens: number;
  tool: string | null;
  text: string;
}

/** The result of starting one background agent. */
export type SentAgent =
  | { kind: "begun"; name: string; session_id: string; run_id: string }
  | { kind: "refused"; name: string; problem: string };

/** Starts and manages the background agents of a session. */
export interface BackgroundAgents {
  /** Resolves when their work is stored. Idempotent per call. Throws `invalid_parameter` for an unknown agent. */
  send(subagents: readonly Assignment[], timeoutSeconds: number): Promise<SentAgent[]>;
  /** Oldest first, without cleared ones. */
  list(): Promise<BackgroundAgent[]>;
  /** `undefined` while it does not work. */
  watch(sessionId: string): BackgroundWatch | undefined;
  /** Resolves when its end is stored; does nothing if it has ended. */
  stop(agent: BackgroundAgent): Promise<void>;
  /** Hides them from the list; their sessions stay. */
  clear(agents: readonly BackgroundAgent[]): Promise<void>;
}

/** An agent and its result, for a model; the reply is cut to `maxLength` characters. */
export function backgroundText({ name, session_id, status, report }: BackgroundAgent, maxLength: number): string {
  const who = `Background agent ${name} (${session_id})`;
  if (report === null) {
    const where = { queued: "waits for its turn", asking: "waits for a person to answer", working: "still works" };
    return status === "finished" ? `${who} has finished.` : `${who} ${where[status]}.`;
  }
  const cost = report.cost === null ? "" : `, cost ${Number(report.cost.toPrecision(4))}`;
  return `${who} has finished (${report.end_reason}, ${report.tokens} tokens${cost}): ${shortened(report.reply, maxLength)}`;
}

function shortened(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  return `${text.slice(0, maxLength).toWellFormed()} [… ${text.length - maxLength} characters are not shown]`;
}
