import { deleteAssistant } from "./assistants.ts";
import type { OwnerScope } from "./scope/owner-scope.ts";
import { deleteSession, isDone } from "./sessions.ts";

/** What `truncate` is to remove. */
export interface Truncation {
  /** All threads, with everything in them. */
  threads: boolean;
  /** All runs, with their states; threads stay. */
  runs: boolean;
  /** All states; threads and runs stay. */
  checkpointer: boolean;
  /** All items of the store. */
  store: boolean;
  /** All assistants that were made, with their runs; those that graphs have by themselves stay. */
  assistants: boolean;
}

const page = 500;

/**
 * Removes everything of some kinds that the caller has: for test suites of clients. What the caller may see and not
 * delete stays. Throws `permission`, before anything is removed, where the store is not the caller's alone.
 */
export async function truncate(
  parts: Pick<OwnerScope, "storage" | "runs" | "items">,
  wanted: Truncation,
): Promise<void> {
  const { storage, runs, items } = parts;
  if (wanted.store) await items.clear();
  if (wanted.assistants) await deleteAssistants(parts);
  if (!wanted.threads && !wanted.runs && !wanted.checkpointer) return;
  for (const id of await allSessions(storage)) {
    if (wanted.threads && (await isDone(deleteSession(parts, id)))) continue;
    if (wanted.runs) await deleteRuns(runs, id);
    if (wanted.checkpointer) await isDone(deleteStates(parts, id));
  }
}

async function deleteStates({ storage, runs }: Pick<OwnerScope, "storage" | "runs">, sessionId: string): Promise<void> {
  await runs.cancelSession(sessionId);
  await runs.between(sessionId, () => storage.checkpointer.deleteThread(sessionId));
}

async function deleteAssistants(parts: Pick<OwnerScope, "storage" | "runs">): Promise<void> {
  // Of the system none is brought along: only rows are found.
  const { assistants } = await parts.storage.assistants.search({ limit: Number.MAX_SAFE_INTEGER, offset: 0 }, []);
  for (const assistant of assistants) {
    if (!assistant.is_system) await isDone(deleteAssistant(parts, assistant, false));
  }
}

async function allSessions({ sessions }: OwnerScope["storage"]): Promise<string[]> {
  const ids: string[] = [];
  for (let total = Infinity; ids.length < total;) {
    const found = await sessions.search({ limit: page, offset: ids.length, sort_by: "thread_id", sort_order: "asc" });
    if (found.sessions.length === 0) break;
    ids.push(...found.sessions.map(({ session_id }) => session_id));
    total = found.total;
  }
  return ids;
}

async function deleteRuns(runs: OwnerScope["runs"], sessionId: string): Promise<void> {
  for (let kept = 0; ;) {
    const found = await runs.list(sessionId, { limit: page, offset: kept });
    if (found.length === 0) return;
    for (const { run_id } of found) if (!(await isDone(runs.delete(run_id)))) kept += 1;
  }
}
