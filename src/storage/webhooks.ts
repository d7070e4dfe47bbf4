/** What is to be told of the end of a run, and to whom. */
export interface Webhook {
  webhook_id: number;
  run_id: string;
  /** An address of the web, or a path of this server. */
  url: string;
  /** A JSON object as text. */
  body: string;
  /** How often it was tried in vain. */
  attempts: number;
  /** When it is to be tried (again). ISO-8601. */
  due_at: string;
}

/** What the ends of runs have left to tell. It is written with the end of its run, in one transaction (`RunOutcome`). */
export interface WebhookStore {
  /** Those that are due at `now` (ISO date), oldest first. */
  due(now: string, limit: number): Promise<Webhook[]>;
  /** When the next one is due; `undefined` when nothing is left to tell. */
  next(): Promise<string | undefined>;
  /** It was tried in vain once more, and is due again at `dueAt` (ISO date). */
  postpone(webhookId: number, dueAt: string): Promise<void>;
  /** It was told, or given up. */
  remove(webhookId: number): Promise<void>;
}
