import type { Runs } from "../../runs/runs.ts";
import type { ModelRequestStore, SessionTtlStore } from "../../storage/record-stores.ts";
import type { Ledger, Storage } from "../../storage/storage.ts";
/** What the protocol may do with runs. */
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
  | "position"
  | "stopOf"
  | "companionOf"
  | "followSession"
  | "followRecord"
  | "cancel"
  | "cancelSession"
  | "delete"
  | "removeOfAssistant"
  | "unfinished"
  | "traces"
> & {
  /** As `between` of `Runs`. `to` says what the work does to the session: the rules of `auth.path` are asked about that. */
  between<Result>(sessionId: string, work: () => Promise<Result>, to?: "change" | "delete"): Promise<Result>;
};
/** What the protocol may reach of the storage. Everything else hangs on a session and is reached through it. */
export type SessionStorage = Pick<Storage, "approvals" | "assistants" | "checkpointer" | "tasks"> & {
  sessions: Omit<Storage["sessions"], "deleteUnfinished" | "deleteUnused">;
  ledger: Pick<Ledger, "list" | "get">;
  requests: Pick<ModelRequestStore, "last" | "calls" | "call">;
  ttls: Pick<SessionTtlStore, "get" | "set">;
};
