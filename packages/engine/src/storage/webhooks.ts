/** What is to be told of the end of a run, and to whom. */
export interface Webhook {
  webhook_id: number;
  run_id: string;
  /** An address of the web, or a path of this server. */
  url: string;
  /** The receiver, as `host:port` of the address; empty for this server. */
  host: string;
  /** Whose session the run was of; `null` for nobody's. */
  owner: string | null;
  /** A JSON object as text. */
  body: string;
  /** How often it was tried in vain. */
  attempts: number;
  /** When it is to be tried (again). ISO-8601. */
  due_at: string;
}

/** Who is to be passed over for now: what is being told already, and receivers and owners that have enough of it. */
export interface BusyReceivers {
  webhooks: readonly number[];
  hosts: readonly string[];
  owners: readonly string[];
}

/** What the ends of runs have left to tell. It is written with the end of its run, in one transaction (`RunOutcome`). */
export interface WebhookStore {
  /** Those that are due at `now` (ISO date), oldest first. */
  due(now: string, limit: number, busy?: BusyReceivers): Promise<Webhook[]>;
  /** When the next one is due; `undefined` when nothing is left to tell. */
  next(busy?: BusyReceivers): Promise<string | undefined>;
  /** It was tried in vain once more, and is due again at `dueAt` (ISO date). */
  postpone(webhookId: number, dueAt: string): Promise<void>;
  /** It was told, or given up. */
  remove(webhookId: number): Promise<void>;
}
