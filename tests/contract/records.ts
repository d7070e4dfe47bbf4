import { vi } from "vitest";
import { resetClusterTime } from "@millrace/engine/concurrency/cluster-time";
import type { Run, Session } from "@millrace/engine/storage/records";
import type { RunEvent } from "@millrace/engine/run-events";
import type { AttemptStore, RunOutcome } from "@millrace/engine/storage/attempt-store";
import type { Storage } from "@millrace/engine/storage/storage";

/** What a contract test works with: an open storage, and a way to reopen it. */
export interface StorageFixture {
  readonly storage: Storage;
  reopen(): Promise<Storage>;
}

/** Sets this machine's clock, and has the storage use it: the clock of a database server would not change. */
export function setClock(now: number): void {
  vi.useFakeTimers({ toFake: ["Date"], now });
  resetClusterTime();
}

/** The writer of an attempt of a run; without a number, the writer of a run without attempts. */
export function writer(storage: Storage, run_id: string, attempt?: number, session_id = "s1"): AttemptStore {
  return storage.attempt({ session_id, run_id, attempt });
}

/** Ends a run. */
export function finish(
  storage: Storage,
  runId: string,
  outcome: RunOutcome,
  attempt?: number,
): Promise<Run | undefined> {
  return writer(storage, runId, attempt).finish(outcome);
}

/** Appends to the log of a run. */
export function append(
  storage: Storage,
  sessionId: string,
  runId: string,
  events: RunEvent[],
  attempt?: number,
): Promise<void> {
  return writer(storage, runId, attempt, sessionId).append(events);
}

/** A session record with the given `fields`. */
export function sessionRecord(session_id: string, fields: Partial<Session> = {}): Session {
  const created_at = "2026-01-01T00:00:00.000Z";
  const empty = { owner: null, metadata: {}, config: {}, status: "idle", interrupts: {} } as const;
  return { session_id, created_at, updated_at: created_at, ...empty, ...fields };
}

/** A run record with the given `fields`. */
export function runRecord(run_id: string, session_id: string, fields: Partial<Run> = {}): Run {
  const created_at = "2026-01-01T00:00:00.000Z";
  return {
    run_id,
    session_id,
    assistant_id: "agent",
    graph_id: "agent",
    status: "pending",
    kwargs: {
      input: { messages: [{ role: "user", content: "hello" }] },
      config: { configurable: {} },
      context: {},
      stream_mode: ["values"],
      stream_subgraphs: false,
      stream_resumable: false,
      temporary: false,
      durability: "sync",
    },
    metadata: { owner: "me" },
    multitask_strategy: "enqueue",
    attempt: 0,
    crashes: 0,
    event_mark: 0,
    expired_events: -1,
    stop_requested: null,
    error: null,
    created_at,
    updated_at: created_at,
    ...fields,
  };
}
