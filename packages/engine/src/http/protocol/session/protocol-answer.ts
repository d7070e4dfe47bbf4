import { HTTPException } from "hono/http-exception";
import { explain, isAppError, type ErrorCode } from "../../../errors/errors.ts";
import type { Logger } from "../../../logger.ts";
import { Refusal as Refused } from "../../../manifest/refusal.ts";
import { partingTime } from "../../../runs/events/event-clock.ts";

/** Why a command was refused, in the words of the protocol. */
export type ProtocolErrorCode =
  | "invalid_argument"
  | "unknown_command"
  | "unknown_error"
  | "no_such_run"
  | "no_such_subscription"
  | "no_such_namespace"
  | "no_such_interrupt"
  | "permission_denied"
  | "not_supported";

/** Where a thread's record stood when a command was taken: what it has begun comes after `applied_through_seq`. */
export interface AnswerMeta {
  thread_id: string;
  applied_through_seq: number;
}

/** The answer to a command; a refusal is one too, with HTTP status 200. */
export type ProtocolAnswer =
  | { type: "success"; id: number; result: object; meta: AnswerMeta }
  | { type: "error"; id: number | null; error: ProtocolErrorCode; message: string; meta?: AnswerMeta };

/** What came of a command. */
export type CommandOutcome = { result: object } | Refusal;

/** Why nothing came of a command. */
export interface Refusal {
  error: ProtocolErrorCode;
  message: string;
}

/** The place that everything told so far has at most, and nothing that is told from now on. */
export function metaOf(threadId: string): AnswerMeta {
  return { thread_id: threadId, applied_through_seq: partingTime() * 1000 - 1 };
}

const codes: Partial<Record<ErrorCode, ProtocolErrorCode>> = {
  auth: "permission_denied",
  permission: "permission_denied",
  not_found: "invalid_argument",
  invalid_format: "invalid_argument",
  missing_parameter: "invalid_argument",
  invalid_parameter: "invalid_argument",
  conflict: "invalid_argument",
  invalid_state: "invalid_argument",
  too_large: "invalid_argument",
};

/** Turns what a command has thrown into its refusal; what nobody expected is logged whole and told without details. */
export function toRefusal(error: unknown, logger: Logger): Refusal {
  if (isAppError(error)) return { error: codes[error.code] ?? "unknown_error", message: explain(error) };
  if (error instanceof HTTPException && error.status < 500) {
    return { error: "invalid_argument", message: error.message };
  }
  // What the rules of `auth.path` have refused.
  if (error instanceof Refused && error.status < 500) return { error: "permission_denied", message: error.message };
  logger.error({ err: error }, "command_failed");
  return { error: "unknown_error", message: "Internal Server Error" };
}
