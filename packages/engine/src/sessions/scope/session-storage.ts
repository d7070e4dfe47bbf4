import type { Runs } from "../../runs/runs.ts";
import type { SessionTtlStore } from "../../storage/record-stores.ts";
import type { Storage } from "../../storage/storage.ts";
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
export type SessionStorage = Pick<
  Storage,
  "approvals" | "assistants" | "checkpointer" | "ledger" | "requests" | "tasks"
> & {
  sessions: Omit<Storage["sessions"], "deleteUnfinished" | "deleteUnused">;
  ttls: Pick<SessionTtlStore, "get" | "set">;
};
