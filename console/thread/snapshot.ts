import type { ConnectionState } from "../api/live/events.ts";
import type { Activity, Approval, Operation } from "../api/shapes.ts";
import { emptyThread, type ThreadState, type UserItem } from "./items.ts";

/** What a page knows of an open thread. */
export interface Snapshot {
  thread: ThreadState;
  approvals: readonly Approval[];
  operations: readonly Operation[];
  queue: readonly UserItem[];
  activity: Activity | undefined;
  /** Where the messages before the known ones begin; null: there are none. */
  before: string | null;
  isLoading: boolean;
  error: unknown;
  connection: ConnectionState;
  isStopping: boolean;
}

/** A thread of which nothing is known yet. */
export const nothingKnown: Snapshot = {
  thread: emptyThread,
  approvals: [],
  operations: [],
  queue: [],
  activity: undefined,
  before: null,
  isLoading: true,
  error: undefined,
  connection: "connecting",
  isStopping: false,
};
