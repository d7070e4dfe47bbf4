import { deleteAssistant } from "./assistants.ts";
import type { Door } from "./door.ts";
import { deleteSession } from "./sessions.ts";

/** What is to go. */
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

/** Removes everything of some kinds that the caller has: for test suites of clients. */
export async function truncate(parts: Pick<Door, "storage" | "runs" | "items">, wanted: Truncation): Promise<void> {
  const { storage, runs, items } = parts;
  if (wanted.store) await items.clear();
  if (wanted.assistants) await deleteAssistants(parts);
  if (!wanted.threads && !wanted.runs && !wanted.checkpointer) return;
  for (const id of await allSessions(storage)) {
    if (wanted.threads) {
      await deleteSession(parts, id);
      continue;
    }
    if (wanted.runs) await deleteRuns(runs, id);
    if (wanted.checkpointer) {
      await runs.cancelSession(id);
      await runs.between(id, () => storage.checkpointer.deleteThread(id));
    }
  }
}

async function deleteAssistants(parts: Pick<Door, "storage" | "runs">): Promise<void> {
  // Of the system none is brought along: only rows are found.
  const { assistants } = await parts.storage.assistants.search({ limit: Number.MAX_SAFE_INTEGER, offset: 0 }, []);
  for (const assistant of assistants) if (!assistant.is_system) await deleteAssistant(parts, assistant, false);
}

async function allSessions({ sessions }: Door["storage"]): Promise<string[]> {
  const ids: string[] = [];
  for (let total = Infinity; ids.length < total;) {
    const found = await sessions.search({ limit: page, offset: ids.length, sort_by: "thread_id", sort_order: "asc" });
    if (found.sessions.length === 0) break;
    ids.push(...found.sessions.map(({ session_id }) => session_id));
    total = found.total;
  }
  return ids;
}

async function deleteRuns(runs: Door["runs"], sessionId: string): Promise<void> {
  for (;;) {
    const found = await runs.list(sessionId, { limit: page, offset: 0 });
    if (found.length === 0) return;
    for (const { run_id } of found) await runs.delete(run_id);
  }
}
