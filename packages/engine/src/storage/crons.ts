import { z } from "zod";
import { type Page, JsonObject } from "./records.ts";

/** Runs that the clock starts. Dates are ISO-8601 UTC. */
export const Cron = z.object({
  cron_id: z.string(),
  /** Whose key made it; `null` when no key was asked for. */
  owner: z.string().nullable(),
  assistant_id: z.string(),
  /** The session that its runs go to; `null`: each has one of its own. */
  session_id: z.string().nullable(),
  schedule: z.string(),
  /** An IANA name; `null` is UTC. */
  timezone: z.string().nullable(),
  /** No run at this date or later. */
  end_time: z.string().nullable(),
  /** The body of the request that starts a run. */
  payload: JsonObject,
  metadata: JsonObject,
  enabled: z.boolean(),
  /** What becomes of a session that was made for one run. */
  on_run_completed: z.enum(["delete", "keep"]),
  /** When the next run starts; `null` when none will. */
  next_run_date: z.string().nullable(),
  created_at: z.string(),
  updated_at: z.string(),
});
export type Cron = z.infer<typeof Cron>;

/** Which crons a search wants, and in which order. */
export interface CronQuery extends Page {
  /** Only crons of this owner, and with `orphans` those without one. Default those of all. */
  owner?: { name: string; orphans: boolean };
  assistant_id?: string | undefined;
  session_id?: string | undefined;
  enabled?: boolean | undefined;
  metadata?: JsonObject | undefined;
  sort_by?: "cron_id" | "assistant_id" | "thread_id" | "created_at" | "updated_at" | "next_run_date";
  sort_order?: "asc" | "desc";
}

/** One start of a cron: the date that it was due at, and the one that it is due at next. */
export interface CronTurn {
  cron_id: string;
  due: string;
  next: string | null;
}

/** Crons. What is written is on disk (fsync) before the promise resolves; those of a session go with it. */
export interface CronStore {
  /** Throws `not_found` for a session that does not exist. */
  create(cron: Cron): Promise<Cron>;
  get(cronId: string): Promise<Cron | undefined>;
  /** Metadata is merged shallowly, the rest is replaced. `updated_at` is set. */
  update(cronId: string, patch: Partial<Omit<Cron, "cron_id" | "owner" | "created_at">>): Promise<Cron | undefined>;
  delete(cronId: string): Promise<boolean>;
  /** `metadata` filters by containment. `total` counts all matches, not the page. */
  search(query: CronQuery): Promise<{ crons: Cron[]; total: number }>;
  /** Calls back with the date (ISO) at which a cron that was written just now is due. */
  onDate(tell: (date: string) => void): void;
  /** Enabled ones whose date has come by `now` (ISO date), first due first. */
  due(now: string): Promise<Cron[]>;
  /** The date at which the next one is due; `undefined` when none is. */
  next(): Promise<string | undefined>;
  /** Takes a turn without a run. False when the cron is not due at that date any more. */
  skip(turn: CronTurn): Promise<boolean>;
}
