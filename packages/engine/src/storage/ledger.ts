import { AppError, assertNever } from "../errors/errors.ts";
import type { ToolCallRecord } from "./records.ts";
import type { LedgerAnswer } from "./storage.ts";

/** What a second start of a recorded call is told (law 3). Every ledger answers by this rule. */
export function answerRecorded(call: ToolCallRecord): LedgerAnswer {
  if (call.state === "finished") return { kind: "finished", result: call.result };
  switch (call.effect) {
    case "pure":
    case "idempotent":
      return { kind: "repeat" };
    case "reconcilable":
      return { kind: "reconcile", started_at: call.started_at };
    case "unsafe":
      return { kind: "unknown", started_at: call.started_at };
    default:
      return assertNever(call.effect);
  }
}

/** The error (`invalid_state`) for a result that belongs to no started call: the caller skipped `start`. */
export function notStarted(sessionId: string, toolCallId: string): AppError {
  return new AppError(
    "invalid_state",
    `Expected a started tool call "${toolCallId}" of session "${sessionId}" in the ledger, found none.`,
    { suggestion: "Record the start of a call before its result." },
  );
}
