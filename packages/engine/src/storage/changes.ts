import { z } from "zod";
import { type Approval, JsonObject, type OperationRecord, type Run, Session, type Task } from "./records.ts";

/** What a write has changed. `patch` is what is so now, by the names of the wire, as far as the write knows it. */
export const Change = z.object({
  type: z.enum(["thread", "run", "approval", "operation", "task"]),
  what: z.enum(["created", "changed", "deleted"]),
  id: z.string(),
  /** Empty for what belongs to an owner and to no session. */
  session_id: z.string(),
  patch: JsonObject,
  /** The row of a session that is gone; of what belongs to no session, one of its owner that says who sees it. */
  session: Session.optional(),
});
export type Change = z.infer<typeof Change>;

/** Called with what each transaction has changed, after its commit. It must not throw and must not take long. */
export type ChangeListener = (changes: readonly Change[]) => void;

/** A session as a write has left it. One that is gone comes with its row. */
export function changeOfSession(what: Change["what"], session: Session): Change {
  const { session_id, status, metadata, created_at, updated_at } = session;
  const patch = { status, metadata, created_at, updated_at };
  return { type: "thread", what, id: session_id, session_id, patch, ...(what === "deleted" && { session }) };
}

/** What a run has made of its session. */
export function changeOfStatus(session_id: string, patch: Pick<Session, "status" | "updated_at">): Change {
  return { type: "thread", what: "changed", id: session_id, session_id, patch };
}

/** A run as a write has left it. */
export function changeOfRun(what: Change["what"], run: Run): Change {
  const { run_id, session_id, status, graph_id, assistant_id, attempt, created_at, updated_at, error } = run;
  const patch = { status, graph_id, assistant_id, attempt, created_at, updated_at, error: error?.error ?? null };
  return { type: "run", what, id: run_id, session_id, patch };
}

/** A question as a write has left it. */
export function changeOfApproval(approval: Approval): Change {
  const { session_id, interrupt_id: id, state, asked_at, decided_by, decided_at } = approval;
  const patch = { state, asked_at, decided_by, decided_at };
  return { type: "approval", what: state === "pending" ? "created" : "changed", id, session_id, patch };
}

/** An operation as a write has left it. */
export function changeOfOperation(what: Change["what"], operation: OperationRecord): Change {
  const {
    operation_id: id,
    session_id,
    run_id,
    tool,
    status,
    change,
    lines_added,
    lines_removed,
    updated_at,
  } = operation;
  const path = change.kind === "move" ? change.to : change.path;
  const patch = { run_id, tool, status, path, lines_added, lines_removed, updated_at };
  return { type: "operation", what, id, session_id, patch };
}

/** A task as a write has left it; only its owner sees the change. */
export function changeOfTask(
  what: Change["what"],
  { task_id: id, owner, session_id: thread_id, ...rest }: Task,
): Change {
  const { created_at, updated_at } = rest;
  const none = { metadata: {}, config: {}, status: "idle", interrupts: {} } as const;
  const session = { session_id: "", owner, created_at, updated_at, ...none };
  return { type: "task", what, id, session_id: "", patch: what === "deleted" ? {} : { ...rest, thread_id }, session };
}
