import { z } from "zod";
import { type Approval, JsonObject, type OperationRecord, type Run, Session, type Task } from "./records.ts";

/** A change by a write. `patch` has the new values that the write knows, by their names on the wire. */
export const Change = z.object({
  type: z.enum(["thread", "run", "approval", "operation", "task"]),
  what: z.enum(["created", "changed", "deleted"]),
  id: z.string(),
  /** Empty for what belongs to an owner and to no session. */
  session_id: z.string(),
  patch: JsonObject,
  /** The row of a removed session; without a session, a row with the owner who may see the change. */
  session: Session.optional(),
});
export type Change = z.infer<typeof Change>;

/** Called with the changes of each transaction after its commit. It must be fast and must not throw. */
export type ChangeListener = (changes: readonly Change[]) => void;

/** The change of a session; that of a removed one includes its row. */
export function changeOfSession(what: Change["what"], session: Session): Change {
  const { session_id, status, metadata, created_at, updated_at } = session;
  const patch = { status, metadata, created_at, updated_at };
  return { type: "thread", what, id: session_id, session_id, patch, ...(what === "deleted" && { session }) };
}

/** The change of a session's status. */
export function changeOfStatus(session_id: string, patch: Pick<Session, "status" | "updated_at">): Change {
  return { type: "thread", what: "changed", id: session_id, session_id, patch };
}

/** The change of a run. */
export function changeOfRun(what: Change["what"], run: Run): Change {
  const { run_id, session_id, status, graph_id, assistant_id, attempt, created_at, updated_at, error } = run;
  const patch = { status, graph_id, assistant_id, attempt, created_at, updated_at, error: error?.error ?? null };
  return { type: "run", what, id: run_id, session_id, patch };
}

/** The change of an approval. */
export function changeOfApproval(approval: Approval): Change {
  const { session_id, interrupt_id: id, state, asked_at, decided_by, decided_at } = approval;
  const patch = { state, asked_at, decided_by, decided_at };
  return { type: "approval", what: state === "pending" ? "created" : "changed", id, session_id, patch };
}

/** The change of an operation. */
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

/** The change of a task; only its owner sees it. */
export function changeOfTask(
  what: Change["what"],
  { task_id: id, owner, session_id: thread_id, ...rest }: Task,
): Change {
  const { created_at, updated_at } = rest;
  const none = { metadata: {}, config: {}, status: "idle", interrupts: {} } as const;
  const session = { session_id: "", owner, created_at, updated_at, ...none };
  return { type: "task", what, id, session_id: "", patch: what === "deleted" ? {} : { ...rest, thread_id }, session };
}
