import type { Assignment } from "./delegation.ts";

/** How far an agent in the background has come; `asking`: it waits for a person. */
export const backgroundStatuses = ["queued", "working", "asking", "finished"] as const;

/** What the work of an agent in the background came to. `cost` is `null` where no price is known. */
export interface BackgroundReport {
  success: boolean;
  end_reason: string;
  reply: string;
  tokens: number;
  cost: number | null;
}

/** An agent that works in the background, in a session of its own. */
export interface BackgroundAgent {
  session_id: string;
  /** Its newest run; `null` when a stop came before it was begun. */
  run_id: string | null;
  name: string;
  task: string;
  status: (typeof backgroundStatuses)[number];
  /** ISO-8601. */
  begun_at: string;
  /** `null` until it has finished. */
  report: BackgroundReport | null;
  /** Its caller has put it away: it is not listed to the model any more. */
  cleared: boolean;
}

/** What an agent does at this moment; `text` is what has come of its present answer, which may be nothing. */
export interface BackgroundWatch {
  iteration: number;
  max_iterations: number;
  tokens: number;
  tool: string | null;
  text: string;
}

/** What came of sending one agent to the background. */
export type SentAgent =
  | { kind: "begun"; name: string; session_id: string; run_id: string }
  | { kind: "refused"; name: string; problem: string };

/** Sends agents to the background, and finds those that were sent from its session. */
export interface BackgroundAgents {
  /**
   * Resolves when their work is on disk. Idempotent by call. Throws `invalid_parameter` for an unknown agent.
   */
  send(subagents: readonly Assignment[], timeoutSeconds: number): Promise<SentAgent[]>;
  /** Oldest first, without those that were put away. */
  list(): Promise<BackgroundAgent[]>;
  /** `undefined` while it does not work. */
  watch(sessionId: string): BackgroundWatch | undefined;
  /** Resolves when its end is written; one that has ended stays as it is. */
  stop(agent: BackgroundAgent): Promise<void>;
  /** From then on they are not listed; their sessions stay. */
  clear(agents: readonly BackgroundAgent[]): Promise<void>;
}

/** An agent and what it came to, as a model reads it; its reply has at most `longest` characters. */
export function backgroundText({ name, session_id, status, report }: BackgroundAgent, longest: number): string {
  const who = `Background agent ${name} (${session_id})`;
  if (report === null) {
    const where = { queued: "waits for its turn", asking: "waits for a person to answer", working: "still works" };
    return status === "finished" ? `${who} has finished.` : `${who} ${where[status]}.`;
  }
  const cost = report.cost === null ? "" : `, cost ${Number(report.cost.toPrecision(4))}`;
  return `${who} has finished (${report.end_reason}, ${report.tokens} tokens${cost}): ${shortened(report.reply, longest)}`;
}

function shortened(text: string, longest: number): string {
  if (text.length <= longest) return text;
  return `${text.slice(0, longest).toWellFormed()} [… ${text.length - longest} characters are not shown]`;
}
