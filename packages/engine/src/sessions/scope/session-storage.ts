import type { Runs } from "../../runs/runs.ts";
import type { SessionTtlStore } from "../../storage/record-stores.ts";
import type { Storage } from "../../storage/storage.ts";
/** The runs' methods available to the protocol. */
export type SessionRuns = Pick<
  Runs,
  | "start"
  | "followBatches"
  | "findGap"
  | "tail"
  | "wait"
  | "lastValues"
  | "get"
  | "list"
  | "submitted"
  | "placeOf"
  | "waitReason"
  | "stopStateOf"
  | "liveOf"
  | "followSession"
  | "followRecord"
  | "cancel"
  | "cancelSession"
  | "delete"
  | "removeOfAssistant"
  | "unfinished"
  | "traces"
> & {
  /** Like `between` of `Runs`. `to` is what the work does to the session, for the rules of `auth.path`. */
  between<Result>(sessionId: string, work: () => Promise<Result>, to?: "change" | "delete"): Promise<Result>;
};
/** The storage available to the protocol. Everything else belongs to a session and is reached through it. */
export type SessionStorage = Pick<
  Storage,
  "approvals" | "assistants" | "checkpointer" | "ledger" | "requests" | "tasks" | "whileCreating"
> & {
  sessions: Omit<Storage["sessions"], "deleteUnfinished" | "deleteUnused" | "withLease">;
  ttls: Pick<SessionTtlStore, "get" | "set">;
};
